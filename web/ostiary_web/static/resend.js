// Counts down to when another code may be asked for, with the button waiting; without scripts the page says when.
for (const form of document.querySelectorAll("form[data-wait]")) {
  const until = Date.now() + form.dataset.wait * 1000;
  const button = form.querySelector("button");
  const hint = form.querySelector(".hint");
  const count = () => {
    const seconds = Math.ceil((until - Date.now()) / 1000);
    button.disabled = seconds > 0;
    hint.hidden = !button.disabled;
    hint.textContent = hint.textContent.replace(/\d+/, seconds);
    if (button.disabled) setTimeout(count, 250);
  };
  count();
}
