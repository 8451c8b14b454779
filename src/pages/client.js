// Progressive enhancement: every step works without this script. It polls the status, copies, counts down, reveals
// late hints, suggests the network while the payer types, and submits a form once.

const all = (selector) => document.querySelectorAll(selector)

const setButtons = (disabled) => {
  for (const button of all('form button')) button.disabled = disabled
}

for (const form of document.forms) {
  // After the browser has collected the fields; earlier, the value of the pressed button would be lost.
  form.addEventListener('submit', () => {
    setTimeout(setButtons, 0, true)
    // If the next page does not arrive, the payer can submit again; the server deduplicates.
    setTimeout(setButtons, 15_000, false)
  })
}
// Back from another page, or after a network error: the payer may submit again.
addEventListener('pageshow', () => setButtons(false))

// The next screens show times in the zone of the device.
// biome-ignore lint/suspicious/noDocumentCookie: old browsers do not have the Cookie Store API
document.cookie = `cowry_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone};path=/pay;samesite=lax;max-age=86400`

for (const part of all('[data-reveal]')) {
  setTimeout(() => {
    part.hidden = false
  }, Number(part.dataset.reveal))
}

for (const button of all('[data-copy]')) {
  if (!navigator.clipboard) break
  button.hidden = false
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy)
    } catch {
      // Some in-app browsers forbid it: select the text, so that the payer can copy it by hand.
      return getSelection().selectAllChildren(button.previousElementSibling)
    }
    announce(button.dataset.copied)
    const before = button.textContent
    button.textContent = button.dataset.copied
    setTimeout(() => {
      button.textContent = before
    }, 2000)
  })
}

for (const button of all('[data-print]')) {
  button.hidden = false
  button.addEventListener('click', () => print())
}

function announce(text) {
  const element = document.createElement('p')
  element.className = 'visually-hidden'
  element.setAttribute('role', 'status')
  document.querySelector('main').append(element)
  // A live region must exist before its text changes.
  setTimeout(() => {
    element.textContent = text
  }, 100)
}

for (const counter of all('[data-left]')) {
  const endsAt = Date.now() + Number(counter.dataset.left)
  const element = counter.firstElementChild
  let last = Number.POSITIVE_INFINITY
  const tick = () => {
    const left = Math.max(0, Math.floor((endsAt - Date.now()) / 1000))
    element.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
    if (left <= 60 && last > 60 && last < Number.POSITIVE_INFINITY) announce(counter.dataset.minute)
    if (left <= 10 && last > 10 && last < Number.POSITIVE_INFINITY) announce(counter.dataset.seconds)
    last = left
    if (left > 0) setTimeout(tick, 1000)
  }
  tick()
}

const phone = document.getElementById('phone')
const networks = [...all('[name=network]')]
if (phone && networks.length > 0) {
  let isChosen = networks.some((one) => one.checked)
  for (const one of networks) {
    one.addEventListener('change', () => {
      isChosen = true
    })
  }
  phone.addEventListener('input', () => {
    clearTimeout(phone.timer)
    phone.timer = setTimeout(async () => {
      if (isChosen) return
      try {
        const body = new URLSearchParams({ phone: phone.value })
        const answer = await fetch(phone.form.dataset.network, { method: 'POST', body })
        const guess = answer.ok && (await answer.json()).network
        if (!isChosen) for (const one of networks) one.checked = one.value === guess
      } catch {
        // The server guesses again when the form is submitted.
      }
    }, 400)
  })
  // The number that the merchant sent.
  if (phone.value) phone.dispatchEvent(new Event('input'))
}

for (const notice of all('[data-return]')) {
  setTimeout(() => location.replace(notice.dataset.return), Number(notice.dataset.after) * 1000)
}

const waiting = document.querySelector('[data-status]')
if (waiting) {
  const startedAt = Date.now()
  let timer
  const schedulePoll = () => {
    const age = Date.now() - startedAt
    clearTimeout(timer)
    timer = setTimeout(poll, age < 30_000 ? 2000 : age < 120_000 ? 5000 : 15_000)
  }
  const poll = async () => {
    clearTimeout(timer)
    if (document.hidden) return
    try {
      const answer = await fetch(waiting.dataset.status, { cache: 'no-store' })
      if (answer.ok && (await answer.json()).shown !== waiting.dataset.shown) return location.reload()
    } catch {
      // No network for now: poll again later.
    }
    schedulePoll()
  }
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) poll()
  })
  schedulePoll()
}
