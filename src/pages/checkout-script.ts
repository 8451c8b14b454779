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
  let timer
  const next = () => {
    const age = Date.now() - startedAt
    clearTimeout(timer)
    timer = setTimeout(ask, age < 30000 ? 2000 : age < 120000 ? 5000 : 15000)
  }
  const ask = async () => {
    try {
      const answer = document.hidden ? null : await fetch(waiting.dataset.status, { cache: 'no-store' })
      if (answer?.ok && (await answer.json()).shown !== waiting.dataset.shown) return location.reload()
    } catch {}
    next()
  }
  document.addEventListener('visibilitychange', () => { if (!document.hidden) ask() })
  next()
})()
`
