// A form is sent by a press that was meant for it, and once.
//
// A press is meant for the page that its user saw. A foreign window that closes under the pointer, or a page that
// changes into ours between two clicks, leaves us the second half of a double click (RFC 9700 §4.16). So a press counts
// when the page was in front for half a second, and saw the pointer move, a touch or a key before. Who goes on
// clicking starts the half second again; a user who is refused is told, and presses once more.
const SEEN_MS = 500;
const PRESSED_EARLY = document.currentScript.dataset.pressedEarly;
let seenSince = null;
let hasOwnInput = false;
let isKeyHeld = false;
let untilEnabled;
const look = () => {
  const isInFront = document.visibilityState === "visible" && document.hasFocus();
  seenSince = isInFront ? performance.now() : null;
  hasOwnInput = false;
  clearTimeout(untilEnabled);
  untilEnabled = setTimeout(enable, SEEN_MS);
};
// Programs that press buttons, as browser tests do, wait for one that is enabled.
const buttons = document.querySelectorAll("form[method=post] button");
const enable = () => { for (const button of buttons) button.ariaDisabled = null; };
const begin = () => {
  for (const button of buttons) button.ariaDisabled = "true";
  look();
};
const noteInput = (event) => {
  // Where a window is never given the focus, as in some kiosks, a first press shows that it is in front.
  if (event.type !== "pointermove") seenSince ??= performance.now();
  // A mouse that lies still may press in place of another page, and a key that is held went down there.
  isKeyHeld = event.type === "keydown" && event.repeat;
  const isStill = event.type === "pointerdown" && event.pointerType === "mouse";
  if (!isStill && !isKeyHeld) hasOwnInput = true;
};
for (const type of ["pointermove", "pointerdown", "keydown"]) addEventListener(type, noteInput, true);
// Screen readers and voices press without a pointer or a key; such a click counts no presses.
addEventListener("click", (event) => { if (event.detail === 0 && !isKeyHeld) hasOwnInput = true; }, true);
for (const type of ["focus", "blur", "visibilitychange"]) addEventListener(type, look);
begin();

const isMeant = () => {
  const now = performance.now();
  if (hasOwnInput && seenSince !== null && now - seenSince >= SEEN_MS) return true;
  seenSince = now;
  // The next press is that of a user who was told, though the mouse may not have moved.
  hasOwnInput = true;
  return false;
};
const tellEarly = () => {
  document.querySelector(".early")?.remove();
  const told = document.createElement("p");
  told.className = "notice warning early";
  told.setAttribute("role", "alert");
  told.textContent = PRESSED_EARLY;
  document.querySelector("main").append(told);
  setTimeout(() => told.remove(), 10000);
};

// A second click while the answer is awaited sends nothing. A page that is shown again, as by the back button, may be
// sent again, and so may one that nobody answered within the time that every answer takes. What is sent for longer, as
// a file, shows that it is, by a bar without an end.
const hold = (form) => {
  form.ariaBusy = "true";
  if (!form.dataset.working) {
    setTimeout(release, 10000, form);
    return;
  }
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", form.dataset.working);
  form.append(bar);
};
const release = (form) => {
  form.ariaBusy = null;
  form.querySelector("progress")?.remove();
};
// Before any other script's listener, which takes a form for sent.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  const isHeld = form.ariaBusy === "true";
  if (!isHeld && isMeant()) {
    hold(form);
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!isHeld) tellEarly();
}, true);
addEventListener("pageshow", (event) => {
  if (event.persisted) begin();
  for (const form of document.forms) release(form);
});

// The answer to a form takes the place of its page in the history, so that no way back asks to send it again.
const formIsOn = document.documentElement.dataset.formIsOn;
if (formIsOn) history.replaceState(null, "", formIsOn);
