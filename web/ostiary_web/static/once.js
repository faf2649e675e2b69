// A form is sent once: a second click while the answer is awaited sends nothing. A page that is shown again, as by
// the back button, may be sent again, and so may one that nobody answered within the time that every answer takes.
const release = (form) => { form.ariaBusy = null; };
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  if (form.ariaBusy === "true") {
    event.preventDefault();
    return;
  }
  form.ariaBusy = "true";
  setTimeout(release, 10000, form);
});
addEventListener("pageshow", () => { for (const form of document.forms) release(form); });
