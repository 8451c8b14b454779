// The one script of the payer's page. It only adds comfort: without it every step still works.

export const CHECKOUT_SCRIPT = `(() => {
  for (const form of document.forms) {
    form.addEventListener('submit', () => {
      setTimeout(() => { for (const button of document.querySelectorAll('button')) button.disabled = true })
    })
  }
  addEventListener('pageshow', () => {
    for (const button of document.querySelectorAll('button')) button.disabled = false
  })
  const waiting = document.querySelector('[data-status]')
  if (!waiting) return
  const startedAt = Date.now()
  const ask = async () => {
    try {
      const answer = await fetch(waiting.dataset.status, { cache: 'no-store' })
      const state = await answer.json()
      if (String(state.version) !== waiting.dataset.version || state.changed) return location.reload()
    } catch {}
    next()
  }
  const next = () => {
    const age = Date.now() - startedAt
    setTimeout(() => (document.hidden ? next() : ask()), age < 30000 ? 2000 : age < 120000 ? 5000 : 15000)
  }
  document.addEventListener('visibilitychange', () => { if (!document.hidden) ask() })
  next()
})()
`
