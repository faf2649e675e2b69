// A form is sent once: a second click while the answer is awaited sends nothing. A page that is shown again, as by
// the back button, may be sent again, and so may one that nobody answered within the time that every answer takes.
// What is sent for longer, as a file, shows that it is, by a bar without an end.
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
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  if (form.ariaBusy === "true") {
    event.preventDefault();
    return;
  }
  hold(form);
});
addEventListener("pageshow", () => { for (const form of document.forms) release(form); });
