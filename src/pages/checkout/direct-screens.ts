// While money is on its way straight to the merchant: where to send it, that the merchant looks for it, and what of it is
// missing. No provider tells when it came, so the page never promises how long that takes.

import { money } from '../../core/money.ts'
import type { NextStep } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/html.ts'
import type { TransferRow } from '../../p2p/transfer-queries.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import type { CheckoutFacts } from './facts.ts'
import { attemptField, deadline, postButton, sign } from './pieces.ts'
import { accountFacts, type Content, otherWay, type Transfer } from './waiting-pieces.ts'

export function straightToMerchant(facts: CheckoutFacts, attempt: AttemptRow, step: NextStep): Content {
  const { transfer } = facts
  if (!transfer || (step.kind !== 'transfer' && step.kind !== 'wallet_transfer'))
    throw new Error(`attempt ${attempt.id} has no transfer to show`)
  switch (transfer.status) {
    case 'marked_paid':
      return looking(facts, transfer, step)
    case 'underpaid':
      return missing(facts, transfer, step)
    default:
      return sending(facts, attempt, transfer, step)
  }
}

function sending(facts: CheckoutFacts, attempt: AttemptRow, transfer: TransferRow, step: Transfer): Content {
  const { speech, merchant, path } = facts
  const expected = money(transfer.expectedMinor, transfer.currency)
  const title = speech.say('transferTitle', { amount: speech.amount(expected) })
  return {
    title,
    isCheckMain: false,
    otherWay: otherWay(facts, attempt, speech.say('anotherWay'), speech.say('onlyIfNotSent')),
    body: html`<h1>${title}</h1><p>${speech.say('directHint', { merchant: merchant.name })}</p>
${accountFacts(facts, step, expected)}${timeToSend(facts, transfer)}
${postButton(`${path}/sent`, speech.say('haveSent'), 'main', attemptField(facts))}`,
  }
}

// More than an hour is a date; less of it is counted.
const COUNTED_MS = 3_600_000

function timeToSend(facts: CheckoutFacts, { expiresAt }: TransferRow): Html | null {
  const { speech, now } = facts
  const leftMs = expiresAt.getTime() - now.getTime()
  if (leftMs <= 0) return null
  const words = speech.say('directDeadline', { time: speech.time(expiresAt) })
  return leftMs <= COUNTED_MS ? deadline(facts, words, expiresAt) : html`<p class="dim">${words}</p>`
}

function looking(facts: CheckoutFacts, transfer: TransferRow, step: Transfer): Content {
  const { speech, merchant } = facts
  const title = speech.say('directLookingTitle', { merchant: merchant.name })
  const account = accountFacts(facts, step, money(transfer.expectedMinor, transfer.currency))
  return {
    title,
    isCheckMain: true,
    otherWay: null,
    body: html`${sign('waiting')}<h1>${title}</h1><p>${speech.say('directLookingText')}</p>
<details><summary>${speech.say('showAccount')}</summary>${account}</details>`,
  }
}

function missing(facts: CheckoutFacts, transfer: TransferRow, step: Transfer): Content {
  const { speech } = facts
  const { expectedMinor, currency } = transfer
  const paidMinor = transfer.receivedMinor ?? 0n
  const rest = money(expectedMinor - paidMinor, currency)
  const title = speech.say('directRestTitle', {
    paid: speech.amount(money(paidMinor, currency)),
    amount: speech.amount(money(expectedMinor, currency)),
  })
  return {
    title,
    isCheckMain: true,
    otherWay: null,
    body: html`${sign('attention')}<h1>${title}</h1><p>${speech.say('directRestText', { rest: speech.amount(rest) })}</p>
${accountFacts(facts, step, rest)}`,
  }
}
