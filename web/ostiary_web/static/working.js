// Long work shows that it runs: a bar without an end, and a button that cannot be pressed twice.
for (const form of document.querySelectorAll("form[data-working]")) {
  form.addEventListener("submit", () => {
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    button.textContent = form.dataset.working;
    const bar = document.createElement("progress");
    bar.setAttribute("aria-label", form.dataset.working);
    form.append(bar);
  });
}
