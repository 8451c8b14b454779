// Progressive enhancement of the documentation: every page works without this script. It makes tabs of samples in several
// languages, adds copy buttons, searches while the reader types, and fills the samples with the reader's own test key.

const all = (selector, root = document) => [...root.querySelectorAll(selector)]
const byId = (id) => document.getElementById(id)

/** Storage can be forbidden by the browser; then choices last until the next page. */
const stored = (area, name) => {
  try {
    return globalThis[area].getItem(name)
  } catch {
    return null
  }
}
const store = (area, name, value) => {
  try {
    if (value === null) globalThis[area].removeItem(name)
    else globalThis[area].setItem(name, value)
  } catch {
    // The page itself still shows the choice.
  }
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

// Tabs. The chosen language is kept for all groups and pages.

const LANGUAGE = 'cowry-docs-language'
const groups = all('.tabs').map(makeTabs)
chooseLanguage(stored('localStorage', LANGUAGE))

function makeTabs(group, groupIndex) {
  const panels = all('.code', group)
  const list = element('div', { className: 'tab-list' })
  list.setAttribute('role', 'tablist')
  list.setAttribute('aria-label', 'Language of the sample')
  const tabs = panels.map((panel, index) => {
    const caption = panel.querySelector('.caption')
    const tab = element('button', { type: 'button', id: `tab-${groupIndex}-${index}` }, caption.textContent)
    caption.hidden = true
    panel.id = `panel-${groupIndex}-${index}`
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-labelledby', tab.id)
    tab.setAttribute('role', 'tab')
    tab.setAttribute('aria-controls', panel.id)
    tab.addEventListener('click', () => {
      const before = tab.getBoundingClientRect().top
      store('localStorage', LANGUAGE, panel.dataset.language)
      chooseLanguage(panel.dataset.language)
      // Groups above change their height: keep this tab where the reader sees it.
      scrollBy(0, tab.getBoundingClientRect().top - before)
    })
    return tab
  })
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const next = tabs.at((tabs.indexOf(document.activeElement) + step) % tabs.length)
    next.click()
    next.focus()
  })
  list.append(...tabs)
  group.prepend(list)
  group.classList.add('ready')
  return { panels, tabs }
}

function chooseLanguage(language) {
  for (const { panels, tabs } of groups) {
    const chosen = Math.max(
      0,
      panels.findIndex((panel) => panel.dataset.language === language),
    )
    for (const [index, tab] of tabs.entries()) {
      tab.setAttribute('aria-selected', String(index === chosen))
      tab.tabIndex = index === chosen ? 0 : -1
      panels[index].hidden = index !== chosen
    }
  }
}

// Copy buttons.

// Readers do not copy output.
for (const block of navigator.clipboard ? all('.code:has(> .caption):not([data-language="text"])') : []) {
  const button = element('button', { type: 'button', className: 'copy' }, 'Copy')
  button.addEventListener('click', async () => {
    const code = block.querySelector('code')
    try {
      await navigator.clipboard.writeText(code.textContent)
    } catch {
      // The browser forbids it: select the text, so that the reader can copy it by hand.
      return getSelection().selectAllChildren(code)
    }
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2000)
  })
  block.append(button)
}

// The reader's test key. It comes from the fragment of the address, which browsers do not send, or from the field.

const KEY = 'cowry-docs-key'
const TEST_KEY = /^cowry_test_[\w-]{1,189}$/
const placeholders = all('[data-fill="key"]').map((place) => ({ place, text: place.textContent }))
const [, keyInAddress] = /^#key=([^&]+)$/.exec(location.hash) ?? []
if (keyInAddress !== undefined) history.replaceState(null, '', location.pathname + location.search)
const keyField = byId('key')
// The server shows the field in staging only.
if (keyField) {
  // A link must not replace the key that the reader uses already.
  if (TEST_KEY.test(keyInAddress ?? '') && !TEST_KEY.test(stored('sessionStorage', KEY) ?? ''))
    store('sessionStorage', KEY, keyInAddress)
  offerKeyField()
}

function offerKeyField() {
  const input = byId('key-value')
  const status = byId('key-status')
  const remove = byId('key-remove')
  const show = (key, message) => {
    for (const { place, text } of placeholders) place.textContent = key ?? text
    remove.hidden = key === null
    status.textContent = message
  }
  // Also kept here, where storage is forbidden.
  let current = null
  const use = () => {
    const key = input.value.trim()
    // The key before stays in use.
    if (!TEST_KEY.test(key)) return show(current, 'This is not a test key. Test keys begin with cowry_test_.')
    store('sessionStorage', KEY, key)
    current = key
    input.value = ''
    show(key, 'The samples contain your key now. It stays in this browser tab.')
  }
  byId('key-use').addEventListener('click', use)
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') use()
  })
  remove.addEventListener('click', () => {
    store('sessionStorage', KEY, null)
    current = null
    show(null, 'The key was removed from this browser tab.')
    input.focus()
  })
  keyField.hidden = false
  const known = stored('sessionStorage', KEY)
  if (known !== null && TEST_KEY.test(known)) {
    current = known
    show(known, 'The samples contain your test key. It stays in this browser tab.')
  }
}

// The search while typing, in titles and headings. Enter searches the whole text on the server.

const query = byId('q')
const found = byId('found')
let index
query.addEventListener('focus', () => {
  index ??= fetch('/docs/search.json').then((answer) => answer.json())
  // The server's search still works.
  index.catch(() => {
    index = undefined
  })
})
query.addEventListener('input', async () => {
  const asked = query.value
  const pages = await index?.catch(() => undefined)
  if (pages && asked === query.value) showFound(findHeadings(pages, asked))
})
query.form.addEventListener('keydown', (event) => {
  const links = all('a', found)
  if (event.key === 'Escape') showFound(null)
  if ((event.key !== 'ArrowDown' && event.key !== 'ArrowUp') || links.length === 0) return
  event.preventDefault()
  const next = links.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1)
  if (next < 0) query.focus()
  else links[Math.min(next, links.length - 1)].focus()
})
query.form.addEventListener('focusout', ({ relatedTarget }) => {
  if (!query.form.contains(relatedTarget)) showFound(null)
})

function findHeadings(pages, asked) {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return null
  const rank = (text) => {
    const lower = text.toLowerCase()
    return lower === words.join(' ') ? 0 : lower.startsWith(words[0]) ? 1 : 2
  }
  return pages
    .flatMap(([slug, title, headings]) => [
      { path: `/docs/${slug}`, title, page: '' },
      ...headings.map(([id, text]) => ({ path: `/docs/${slug}#${id}`, title: text, page: title })),
    ])
    .filter(({ title, page }) => words.every((word) => `${title} ${page}`.toLowerCase().includes(word)))
    .sort((one, other) => rank(one.title) - rank(other.title))
    .slice(0, 8)
}

function showFound(results) {
  found.hidden = results === null
  if (results === null) return found.replaceChildren()
  const rows = results.map(({ path, title, page }) => {
    const link = element('a', { href: path }, title)
    if (page) link.append(' ', element('small', {}, page))
    return element('li', {}, link)
  })
  const status = element(
    'p',
    {},
    results.length === 0 ? 'No heading has this. Enter searches all text.' : 'Enter searches all text.',
  )
  status.setAttribute('role', 'status')
  found.replaceChildren(element('ul', {}, ...rows), status)
}

// "/" moves to the search, as readers know it from other documentation.
addEventListener('keydown', (event) => {
  const isTyping = /^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  query.focus()
})

// The table of contents is open where it has its own column.

const contents = document.querySelector('details.contents')
const wide = matchMedia('(min-width: 80rem)')
const openContents = () => {
  if (contents) contents.open = wide.matches
}
openContents()
wide.addEventListener('change', openContents)
