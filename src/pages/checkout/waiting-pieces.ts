// What the screens of a wait share: the account to send money to, what to copy of it, and the way out.

import { SETTLED_IN_MS } from '../../checkout/prompts.ts'
import { formatAmount, type Money } from '../../core/money.ts'
import type { NextStep } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/html.ts'
import { readPhone } from '../../kit/phone.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import type { CheckoutFacts } from './facts.ts'
import {
  attemptField,
  cancelForm,
  type Fact,
  factList,
  leftToRight,
  postButton,
  revealedAfter,
} from './pieces.ts'

export interface Content {
  title: string
  body: Html
  isCheckMain: boolean
  otherWay: Html | null
}

export type Transfer = Extract<NextStep, { kind: 'transfer' | 'wallet_transfer' }>

/** Where to send how much, with which words. */
export function accountFacts(facts: CheckoutFacts, step: Transfer, amount: Money): Html {
  const { speech } = facts
  return factList(
    [
      // As a banking app takes it: digits and a point, no code and no separators.
      [
        speech.say('amount'),
        copyable(facts, speech.say('amount'), speech.amount(amount), formatAmount(amount)),
      ],
      ...destination(facts, step),
      [speech.say('accountName'), step.accountName],
      [speech.say('transferReference'), copyable(facts, speech.say('transferReference'), step.narration)],
    ],
    'account',
  )
}

function destination(facts: CheckoutFacts, step: Transfer): Fact[] {
  const { speech, payment } = facts
  if (step.kind === 'transfer') {
    const label = speech.say('accountNumber')
    return [
      [speech.say('bank'), step.bankName],
      [label, copyable(facts, label, step.accountNumber)],
    ]
  }
  const label = speech.say('phone')
  const shown = readPhone(step.phoneNumber, payment.country)?.national ?? step.phoneNumber
  return [
    [speech.say('network'), step.network],
    [label, copyable(facts, label, shown, shown.replaceAll(' ', ''))],
  ]
}

function copyable({ speech }: CheckoutFacts, what: string, shown: string, copied = shown): Html {
  return html`${leftToRight(shown)}${copyButton(speech, what, copied)}`
}

/** Only a script can copy, so only a script shows the button. */
export function copyButton(speech: CheckoutFacts['speech'], what: string, text: string): Html {
  return html`<button type="button" class="copy" hidden data-copy="${text}" data-copied="${speech.say('copied')}" aria-label="${speech.say('copyWhat', { what })}">${speech.say('copy')}</button>`
}

export function otherWay(facts: CheckoutFacts, attempt: AttemptRow, label: string, warning: string): Html {
  const content = html`<div class="other"><p class="dim">${warning}</p>${postButton(`${facts.path}/other`, label, 'plain', attemptField(facts))}${cancelForm(facts)}</div>`
  return facts.mayGiveUp ? content : revealedAfter(facts, attempt, SETTLED_IN_MS, content)
}
