/** The report form: posts it as JSON and shows the result. Everything from the server is set as text. */
const element = id => document.getElementById(id);

const form = element('report-form');
const button = element('report-button');
const errorText = element('report-error');
const codeField = element('report-code');
const textField = element('report-text');

form.addEventListener('submit', event => {
  event.preventDefault();
  if (!button.disabled) send();
});
button.disabled = false;

async function send() {
  errorText.textContent = '';
  const shortCode = codeOf(codeField.value.trim());
  if (shortCode === '') return showError('Enter the short link.');
  button.disabled = true;
  try {
    const body = { shortCode, category: element('report-category').value, text: textField.value };
    const response = await fetch('/api/v1/reports', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = await response.json().catch(() => ({}));
    if (response.ok) showDone();
    else showError(answer.detail || answer.title || `The server answered with status ${response.status}.`);
  } catch {
    showError('The server could not be reached. Check your connection and try again.');
  } finally {
    button.disabled = false;
  }
}

/** People paste the whole address, even that of the preview. */
function codeOf(text) {
  const path = text.replace(/^[a-z]+:\/\//i, '').replace(/[?#].*$/s, '');
  return path.replace(/\/+$/, '').split('/').pop().replace(/\+$/, '');
}

function showError(text) {
  errorText.textContent = text;
}

function showDone() {
  form.hidden = true;
  element('report-done').hidden = false;
  element('report-done').focus();
}
