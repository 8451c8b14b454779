// Components of the waiting screens: the account for a transfer, its copy buttons, and the way out.

import { PROMPT_GRACE_MS } from '../../checkout/phone-prompts.ts'
import { formatAmount, type Money } from '../../core/money.ts'
import type { NextStep } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { readPhone } from '../../kit/phone.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import {
  attemptField,
  cancelForm,
  type Fact,
  factList,
  ltr,
  postButton,
  revealedAfter,
} from './components.ts'
import type { CheckoutFacts } from './facts.ts'

export interface Content {
  title: string
  body: Html
  isCheckPrimary: boolean
  switchMethodForm: Html | null
}

export type Transfer = Extract<NextStep, { kind: 'transfer' | 'wallet_transfer' }>

/** The account, the amount and the reference of the transfer. */
export function accountFacts(facts: CheckoutFacts, step: Transfer, amount: Money): Html {
  const { translator } = facts
  return factList(
    [
      // In the form that banking apps take: digits and a point, without code and separators.
      [
        translator.t('amount'),
        copyable(facts, translator.t('amount'), translator.amount(amount), formatAmount(amount)),
      ],
      ...destination(facts, step),
      ...(step.accountName === '' ? [] : [[translator.t('accountName'), step.accountName] satisfies Fact]),
      ...reference(facts, step),
    ],
    'account',
  )
}

/** None if the account is for this payment alone. */
function reference(facts: CheckoutFacts, { narration }: Transfer): Fact[] {
  const label = facts.translator.t('transferReference')
  return narration === '' ? [] : [[label, copyable(facts, label, narration)]]
}

function destination(facts: CheckoutFacts, step: Transfer): Fact[] {
  const { translator, payment } = facts
  if (step.kind === 'transfer') {
    const label = translator.t('accountNumber')
    return [
      [translator.t('bank'), step.bankName],
      [label, copyable(facts, label, step.accountNumber)],
    ]
  }
  const label = translator.t('phone')
  const shown = readPhone(step.phoneNumber, payment.country)?.national ?? step.phoneNumber
  return [
    [translator.t('network'), step.network],
    [label, copyable(facts, label, shown, shown.replaceAll(' ', ''))],
  ]
}

function copyable({ translator }: CheckoutFacts, what: string, shown: string, copied = shown): Html {
  return html`${ltr(shown)}${copyButton(translator, what, copied)}`
}

/** Copying needs the script, so only the script shows the button. */
export function copyButton(translator: CheckoutFacts['translator'], what: string, text: string): Html {
  return html`<button type="button" class="copy" hidden data-copy="${text}" data-copied="${translator.t('copied')}" aria-label="${translator.t('copyWhat', { what })}">${translator.t('copy')}</button>`
}

export function switchMethodForm(
  facts: CheckoutFacts,
  attempt: AttemptRow,
  label: string,
  warning: string,
): Html {
  const content = html`<div class="other"><p class="dim">${warning}</p>${postButton(`${facts.path}/other`, label, 'plain', attemptField(facts))}${cancelForm(facts)}</div>`
  return facts.canCancelAttempt ? content : revealedAfter(facts, attempt, PROMPT_GRACE_MS, content)
}
