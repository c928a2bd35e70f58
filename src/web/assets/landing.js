/**
 * The shorten box: posts the form as JSON and shows the answer. Everything from the server is set as text,
 * never as markup, and the API key is only ever sent to this server; it is stored nowhere.
 */
const element = id => document.getElementById(id);

const form = element('shorten-form');
const button = element('shorten-button');
const errorText = element('shorten-error');
const options = element('shorten-options');
const longUrlField = element('long-url');
const aliasField = element('custom-alias');
const keyField = element('api-key');
const result = element('result');
const shortLink = element('short-link');
const copyStatus = element('copy-status');

/** Where a problem's `field` is corrected. */
const fieldInputs = { longUrl: longUrlField, customAlias: aliasField };

form.addEventListener('submit', event => {
  event.preventDefault();
  if (!button.disabled) shorten();
});
for (const input of [longUrlField, aliasField, keyField]) {
  input.addEventListener('input', () => input.removeAttribute('aria-invalid'));
}
element('copy-button').addEventListener('click', () => copyShortLink({ isAsked: true }));
button.disabled = false;

async function shorten() {
  clearError();
  const longUrl = withScheme(longUrlField.value.trim());
  if (longUrl === '') return showError('Enter the address to shorten.', longUrlField);
  const customAlias = aliasField.value.trim();
  if (customAlias !== '' && keyField.value.trim() === '') {
    return showError('An alias needs an API key.', keyField);
  }
  button.disabled = true;
  form.setAttribute('aria-busy', 'true');
  try {
    const response = await fetch('/api/v1/links', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json', ...authorization() },
      body: JSON.stringify(customAlias === '' ? { longUrl } : { longUrl, customAlias }),
    });
    const answer = await response.json().catch(() => ({}));
    if (response.ok) showResult(answer);
    else showProblem(response.status, answer);
  } catch {
    showError('The server could not be reached. Check your connection and try again.');
  } finally {
    button.disabled = false;
    form.removeAttribute('aria-busy');
  }
}

/** People leave the scheme out; a bare host gets https, anything else is left to the server's validation. */
function withScheme(text) {
  return /^[^\s/:?#]+\.[^\s/:?#]+(?=$|[/:?#])/.test(text) ? `https://${text}` : text;
}

function authorization() {
  const key = keyField.value.trim();
  return key === '' ? {} : { Authorization: `Bearer ${key}` };
}

function showProblem(status, problem) {
  const text = problem.detail || problem.title || `The server answered with status ${status}.`;
  const isAboutKey = status === 401 || status === 403;
  showError(text, fieldInputs[problem.field] ?? (isAboutKey ? keyField : undefined));
}

function showError(text, input) {
  errorText.textContent = text;
  result.hidden = true;
  if (input === undefined) return;
  if (options.contains(input)) options.open = true;
  input.setAttribute('aria-invalid', 'true');
  input.focus();
}

function clearError() {
  errorText.textContent = '';
  for (const input of [longUrlField, aliasField, keyField]) input.removeAttribute('aria-invalid');
}

/** A link that was held at its creation is no success: it says what visitors get, and a blocked one is not offered. */
const heldTexts = {
  quarantined: [
    'Your link is being checked',
    'The destination looks risky. Until a moderator has reviewed the link, visitors see a warning first.',
  ],
  blocked: [
    'This link does not work',
    'The destination looks dangerous. The link is blocked unless a moderator allows it.',
  ],
};

function showResult(link) {
  const [heading, note] = heldTexts[link.status] ?? ['Your short link', ''];
  element('result-heading').textContent = heading;
  element('result-note').textContent = note;
  element('result-note').hidden = note === '';
  const isBlocked = link.status === 'blocked';
  element('result-actions').hidden = isBlocked;
  if (isBlocked) shortLink.removeAttribute('href');
  else shortLink.href = link.shortUrl;
  shortLink.textContent = link.shortUrl.replace(/^https?:\/\//, '');
  element('preview-link').href = `${link.shortUrl}+`;
  element('result-source').textContent = link.longUrl;
  copyStatus.textContent = '';
  result.dataset.shortCode = link.shortCode;
  result.hidden = false;
  result.focus();
  showQrCode(link);
  // Started at once, because browsers allow copying only shortly after a click; a held link is not copied.
  if (note === '') copyShortLink({ isAsked: false });
}

/**
 * The QR code is for the owner of a link, so it needs a key, which an image element cannot carry: it is fetched. A
 * visitor without access sees no gap.
 */
async function showQrCode({ shortCode, status }) {
  const place = element('qr-code');
  place.hidden = true;
  place.replaceChildren();
  if (keyField.value.trim() === '' || status === 'blocked') return;
  const path = `/api/v1/links/${encodeURIComponent(shortCode)}/qr?format=svg&size=160`;
  const response = await fetch(path, { headers: authorization() }).catch(() => undefined);
  if (!response?.ok) return;
  const source = await response.text();
  // A slow answer must not put its code beside a link that was made later.
  if (result.dataset.shortCode !== shortCode) return;
  const image = new Image(160, 160);
  image.alt = 'QR code of the short link';
  image.src = `data:image/svg+xml,${encodeURIComponent(source)}`;
  place.replaceChildren(image);
  place.hidden = false;
}

async function copyShortLink({ isAsked }) {
  try {
    await navigator.clipboard.writeText(shortLink.href);
    copyStatus.textContent = '✓ Copied';
  } catch {
    if (!isAsked) return;
    // Browsers offer the clipboard on https only; elsewhere the text is selected, ready to be copied.
    getSelection().selectAllChildren(shortLink);
    copyStatus.textContent = 'Selected: press Ctrl+C or ⌘C';
  }
}
