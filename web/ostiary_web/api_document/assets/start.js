// Shows the document of this server in the page beside this file. Nothing is asked of any other host.
SwaggerUIBundle({
  url: new URL("../docs-json", document.currentScript.src).href,
  dom_id: "#docs",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
