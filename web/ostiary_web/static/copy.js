// Copy buttons: hidden until a script can serve them, so that nothing is offered that does not work.
for (const button of document.querySelectorAll("[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = button.textContent;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    button.textContent = button.dataset.copied;
    setTimeout(() => { button.textContent = said; }, 2000);
  });
}
