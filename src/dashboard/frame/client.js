// Progressive enhancement of the dashboard: every task can be done without this script. It has keyboard shortcuts, copy
// buttons, relative times, live parts, and it submits a form once. Passkeys alone need it.

const all = (selector, root = document) => [...root.querySelectorAll(selector)]
const one = (selector) => document.querySelector(selector)

for (const form of document.forms) {
  // A form that only reads may be submitted again. After a download no next page would unlock it.
  if (form.method === 'get') continue
  form.addEventListener('submit', (event) => {
    // After the browser has collected the fields; earlier, the value of the pressed button would be lost.
    setTimeout(() => {
      if (event.defaultPrevented) return
      for (const button of all('button', form)) button.disabled = true
    })
    // If the next page does not arrive, the person can submit again; the server deduplicates.
    setTimeout(() => {
      for (const button of all('button', form)) button.disabled = false
    }, 15_000)
  })
}
addEventListener('pageshow', () => {
  for (const button of all('form button')) button.disabled = false
})

// A notice of what was done is shown once: loading the page again does not repeat it.
const address = new URL(location.href)
if (address.searchParams.has('done')) {
  address.searchParams.delete('done')
  history.replaceState(history.state, '', address)
}

for (const button of all('[data-copy]')) {
  if (!navigator.clipboard) break
  button.hidden = false
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy)
    const label = button.textContent
    button.textContent = button.dataset.copied
    setTimeout(() => {
      button.textContent = label
    }, 2_000)
  })
}

// Keyboard: / searches, j and k move in a list, Enter opens, g and a letter go to a screen.
const rows = all('tbody tr').filter((row) => row.querySelector('a.row'))
let at = -1
const move = (step) => {
  if (rows.length === 0) return
  rows[at]?.classList.remove('at')
  at = Math.min(Math.max(at + step, 0), rows.length - 1)
  rows[at].classList.add('at')
  rows[at].querySelector('a.row').focus()
}
let isGoing = false
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input,select,textarea')) return
  const target = isGoing && one(`.menu a[data-key="${CSS.escape(event.key)}"]`)
  isGoing = event.key === 'g'
  if (target) target.click()
  else if (event.key === '/') one('.find input')?.focus()
  else if (event.key === 'j') move(1)
  else if (event.key === 'k') move(-1)
  else return
  event.preventDefault()
})

// Passkeys: the browser's answer to the question of the page goes into the form.
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
    character.charCodeAt(0),
  )
const toText = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const askBrowser = async ({ dataset }) => {
  const publicKey = JSON.parse(dataset.options)
  const { user, excludeCredentials = [], allowCredentials = [] } = publicKey
  publicKey.challenge = toBytes(publicKey.challenge)
  for (const one of [...excludeCredentials, ...allowCredentials, ...(user ? [user] : [])])
    one.id = toBytes(one.id)
  const { id, type, response } = await navigator.credentials[dataset.passkey]({ publicKey })
  const parts = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature']
    .filter((part) => response[part])
    .map((part) => [part, toText(response[part])])
  return JSON.stringify({ id, rawId: id, type, response: Object.fromEntries(parts) })
}
for (const input of all('[data-passkey]')) {
  input.form.addEventListener('submit', async (event) => {
    event.preventDefault()
    try {
      input.value = await askBrowser(input)
      input.form.submit()
    } catch {
      // The person has closed the question, or the browser has no passkeys.
      input.nextElementSibling.hidden = false
    }
  })
  if ('auto' in input.dataset) input.form.requestSubmit()
}

// Live parts: a stream says that a record has changed, and the parts that show it are loaded again. A page in the background
// has no stream.
const mark = one('[data-live]')
const added = new Set()
let stream
let isLoading = false
/** The policy of the page allows no text to become markup; the browser parses this document and runs no script of it. */
const loadPage = () =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open('GET', location.href)
    request.setRequestHeader('x-live', '1')
    request.responseType = 'document'
    // After an error, or if the session has ended, the page stays as it is.
    request.addEventListener('loadend', () => resolve(request.status === 200 ? request.response : null))
    request.send()
  })
const loadParts = async () => {
  if (isLoading) return
  isLoading = true
  // Several changes come together, and a busy merchant has many.
  await new Promise((resolve) => setTimeout(resolve, mark.dataset.live === 'all' ? 5_000 : 500))
  isLoading = false
  const next = await loadPage()
  for (const part of all('[data-part]')) {
    const other = next?.querySelector(`[data-part="${part.dataset.part}"]`)
    if (other && other.innerHTML !== part.innerHTML && !part.contains(document.activeElement))
      part.replaceChildren(...other.childNodes)
  }
}
const showNew = ({ of, type, version }) => {
  if (version !== 1 || !['payment', 'charge'].includes(type)) return
  added.add(of)
  const text = one('[data-count]')
  text.textContent = `${added.size} ${text.dataset.count}`
  one('[data-new]').hidden = false
}
const listen = () => {
  stream?.close()
  stream = undefined
  if (!mark || document.hidden || !window.EventSource) return
  stream = new EventSource(mark.dataset.stream)
  stream.addEventListener('end', () => stream?.close())
  stream.addEventListener('message', ({ data }) => {
    const change = JSON.parse(data)
    const { live } = mark.dataset
    if (live === 'list') showNew(change)
    else if (live === 'all' || live === change.of) loadParts()
  })
}
document.addEventListener('visibilitychange', () => {
  listen()
  if (stream && mark.dataset.live !== 'list') loadParts()
})
addEventListener('pagehide', () => stream?.close())
listen()
