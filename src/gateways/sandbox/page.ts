// The provider's hosted pages, as HTML. They take no card number: the payer chooses among test instruments.

import { createHash } from 'node:crypto'
import { formatAmount, money } from '../../core/money.ts'
import { type Html, html, trusted } from '../../kit/html.ts'
import { DEFAULT_INSTRUMENTS, factsOf, INSTRUMENT_NAMES } from './instruments.ts'
import type { SandboxRecord } from './record.ts'
import type { Reply } from './router.ts'

const STYLE = `
:root { color-scheme: light dark; --ink: #1c1917; --soft: #57534e; --line: #d6d3d1; --paper: #fff; --ground: #f5f5f4; --go: #0f5c4a; --on-go: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #fafaf9; --soft: #c7c2bd; --line: #57534e; --paper: #292524; --ground: #1c1917; --go: #7fd6bd; --on-go: #10231e } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
.bar { background: #fbbf24; color: #1c1917; padding: .5rem 1rem; text-align: center; font-weight: 600 }
main { width: calc(100% - 1.5rem); max-width: 28rem; margin: 1.5rem auto; padding: 1.5rem; background: var(--paper); border: 1px solid var(--line); border-radius: .75rem }
h1 { margin: 0; font-size: 1rem; font-weight: 400; color: var(--soft) }
.amount { margin: 0; font-size: 2rem; font-weight: 700; font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
.soft { color: var(--soft); overflow-wrap: anywhere }
fieldset { margin: 1.5rem 0; padding: 0; border: 0 }
legend { margin-bottom: .5rem; font-weight: 600 }
label { display: flex; gap: .75rem; align-items: center; min-height: 3rem; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .5rem; margin-bottom: .5rem }
input { width: 1.25rem; height: 1.25rem; flex: none; accent-color: var(--go) }
button { width: 100%; min-height: 3rem; margin-top: .5rem; border: 1px solid var(--line); border-radius: .5rem; background: none; color: inherit; font: inherit; cursor: pointer }
button.go { background: var(--go); border-color: var(--go); color: var(--on-go); font-weight: 600 }
:focus-visible { outline: 3px solid #f59e0b; outline-offset: 2px }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

export function payPage(record: SandboxRecord, action: string): Reply {
  const chosen = record.instrument ?? DEFAULT_INSTRUMENTS.card
  const cards = INSTRUMENT_NAMES.filter((name) => factsOf(name).channel === 'card')
  const choices = cards.map(
    (name) =>
      html`<label><input type="radio" name="instrument" value="${name}"${
        name === chosen && trusted(' checked')
      }> <span>${factsOf(name).label}</span></label>`,
  )
  return page(
    record,
    html`
    <form method="post" action="${action}">
      <fieldset><legend>Choose a test card</legend>${choices}</fieldset>
      <button class="go" name="action" value="pay">Pay ${amountOf(record)}</button>
      <button name="action" value="cancel">Cancel and return</button>
    </form>`,
  )
}

export function approvalPage(record: SandboxRecord, action: string): Reply {
  return page(
    record,
    html`
    <p>Your bank asks whether it is you who pays.</p>
    <form method="post" action="${action}">
      <button class="go" name="action" value="approve">Approve</button>
      <button name="action" value="refuse">Refuse</button>
    </form>`,
  )
}

export function missingPage(): Reply {
  const body = html`<main><p>We cannot find this payment.</p></main>`
  return htmlReply(404, body, "form-action 'none'")
}

function page(record: SandboxRecord, content: Html): Reply {
  const { checkout } = record
  const body = html`<main>
    <h1>${checkout?.merchantName}</h1>
    <p class="amount">${amountOf(record)}</p>
    <p class="soft">${checkout?.description}</p>
    ${content}
  </main>`
  // Browsers hold the redirects after a form against this list too, so the way back must be on it.
  const wayBack = checkout ? new URL(checkout.returnUrl).origin : ''
  return htmlReply(200, body, `form-action 'self' ${wayBack}`)
}

function amountOf(record: SandboxRecord): string {
  return `${record.currency} ${formatAmount(money(BigInt(record.amount), record.currency))}`
}

function htmlReply(http: number, body: Html, formAction: string): Reply {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>Sandbox payment</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<div class="bar">Test mode: no money moves</div>
${body}
</body>
</html>`
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    'img-src data:',
    formAction.trim(),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    kind: 'text',
    http,
    type: 'text/html',
    text: String(document),
    headers: { 'content-security-policy': policy.join('; '), 'referrer-policy': 'no-referrer' },
  }
}
