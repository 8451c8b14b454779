// The screens of a direct transfer to the merchant: where to send the money, that the merchant checks for it, and
// what is missing. No provider reports the transfer, so the page never promises a duration.

import { money } from '../../core/money.ts'
import type { NextStep } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { TransferRow } from '../../p2p/transfer.ts'

import type { AttemptRow } from '../../payments/attempt.ts'
import { attemptField, deadline, postButton, statusIcon } from './components.ts'
import type { CheckoutFacts } from './facts.ts'
import { accountFacts, type Content, switchMethodForm, type Transfer } from './waiting-components.ts'

export function directTransferContent(facts: CheckoutFacts, attempt: AttemptRow, step: NextStep): Content {
  const { transfer } = facts
  if (!transfer || (step.kind !== 'transfer' && step.kind !== 'wallet_transfer'))
    throw new Error(`attempt ${attempt.id} has no transfer to show`)
  switch (transfer.status) {
    case 'marked_paid':
      return checkingContent(facts, transfer, step)
    case 'underpaid':
      return underpaidContent(facts, transfer, step)
    default:
      return awaitingContent(facts, attempt, transfer, step)
  }
}

function awaitingContent(
  facts: CheckoutFacts,
  attempt: AttemptRow,
  transfer: TransferRow,
  step: Transfer,
): Content {
  const { translator, merchant, path } = facts
  const expected = money(transfer.expectedMinor, transfer.currency)
  const title = translator.t('transferTitle', { amount: translator.amount(expected) })
  return {
    title,
    isCheckPrimary: false,
    switchMethodForm: switchMethodForm(
      facts,
      attempt,
      translator.t('anotherWay'),
      translator.t('onlyIfNotSent'),
    ),
    body: html`<h1>${title}</h1><p>${translator.t('directHint', { merchant: merchant.name })}</p>
${accountFacts(facts, step, expected)}${transferDeadline(facts, transfer)}
${postButton(`${path}/sent`, translator.t('haveSent'), 'main', attemptField(facts))}`,
  }
}

// More than an hour is shown as a date, less as a countdown.
const COUNTDOWN_MS = 3_600_000

function transferDeadline(facts: CheckoutFacts, { expiresAt }: TransferRow): Html | null {
  const { translator, now } = facts
  const leftMs = expiresAt.getTime() - now.getTime()
  if (leftMs <= 0) return null
  const text = translator.t('directDeadline', { time: translator.time(expiresAt) })
  return leftMs <= COUNTDOWN_MS ? deadline(facts, text, expiresAt) : html`<p class="dim">${text}</p>`
}

function checkingContent(facts: CheckoutFacts, transfer: TransferRow, step: Transfer): Content {
  const { translator, merchant } = facts
  const title = translator.t('directLookingTitle', { merchant: merchant.name })
  const account = accountFacts(facts, step, money(transfer.expectedMinor, transfer.currency))
  return {
    title,
    isCheckPrimary: true,
    switchMethodForm: null,
    body: html`${statusIcon('waiting')}<h1>${title}</h1><p>${translator.t('directLookingText')}</p>
<details><summary>${translator.t('showAccount')}</summary>${account}</details>`,
  }
}

function underpaidContent(facts: CheckoutFacts, transfer: TransferRow, step: Transfer): Content {
  const { translator } = facts
  const { expectedMinor, currency } = transfer
  const paidMinor = transfer.receivedMinor ?? 0n
  const rest = money(expectedMinor - paidMinor, currency)
  const title = translator.t('directRestTitle', {
    paid: translator.amount(money(paidMinor, currency)),
    amount: translator.amount(money(expectedMinor, currency)),
  })
  return {
    title,
    isCheckPrimary: true,
    switchMethodForm: null,
    body: html`${statusIcon('attention')}<h1>${title}</h1><p>${translator.t('directRestText', { rest: translator.amount(rest) })}</p>
${accountFacts(facts, step, rest)}`,
  }
}
