// Copy buttons: hidden until a script can serve them, so that nothing is offered that does not work.
//
// Browsers have no clipboard for a page on plain http that another machine serves. There the text is selected and
// copied as a user would; should the browser refuse that too, it stays selected for the user's own keys.
const copyBySelection = (source, text) => {
  const range = document.createRange();
  range.selectNodeContents(source);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const give = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", give, { once: true });
  const isCopied = document.execCommand("copy");
  document.removeEventListener("copy", give);
  return isCopied;
};
const copy = async (source) => {
  const text = source.dataset.copy ?? source.innerText.trim();
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(source, text);
  }
};
for (const button of document.querySelectorAll("[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = button.textContent;
    if (!await copy(document.getElementById(button.dataset.copies))) return;
    button.textContent = button.dataset.copied;
    setTimeout(() => { button.textContent = said; }, 2000);
  });
}
