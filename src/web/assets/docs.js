/** Draws the API reference from this server's OpenAPI document. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followScheme);
followScheme();

try {
  const response = await fetch('/api/v1/openapi.json');
  const spec = await response.json();
  // Requests that a reader tries go to the server that serves this page, under whatever name.
  delete spec.servers;
  SwaggerUIBundle({
    spec,
    domNode: document.getElementById('reference'),
    deepLinking: true,
    defaultModelsExpandDepth: -1,
    validatorUrl: null,
    syntaxHighlight: { activated: false },
    plugins: [accessible],
    layout: 'ReferenceLayout',
    onComplete: showProblem,
  });
} catch {
  document.getElementById('docs-error').hidden = false;
}

/** The page has its own main landmark and headings, and a button must not contain a link. */
function accessible({ React }) {
  const { createElement } = React;
  return {
    components: {
      ReferenceLayout: ({ getComponent }) =>
        createElement(
          'div',
          { className: 'swagger-ui' },
          createElement(getComponent('InfoContainer', true)),
          createElement(getComponent('AuthorizeBtnContainer', true)),
          createElement('h2', null, 'Operations'),
          createElement(getComponent('operations', true)),
        ),
      DeepLink: ({ text }) => createElement('span', null, text),
    },
  };
}

/** Scrolls to the row again, because drawing the reference above has moved it. */
function showProblem() {
  if (location.hash.startsWith('#problem')) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
