// A button in each password field shows what was typed; without scripts the field works as it is.
const { show, hide } = document.currentScript.dataset;
for (const input of document.querySelectorAll("input[type=password]")) {
  const field = document.createElement("span");
  field.className = "shown";
  input.replaceWith(field);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet small";
  const set = (isShown) => {
    input.type = isShown ? "text" : "password";
    button.textContent = isShown ? hide : show;
    button.setAttribute("aria-controls", input.id);
  };
  button.addEventListener("click", () => set(input.type === "password"));
  // Browsers take what they keep for a password from a field of that type.
  input.form?.addEventListener("submit", () => set(false));
  set(false);
  const hadFocus = input.autofocus;
  field.append(input, button);
  if (hadFocus) input.focus();
}
