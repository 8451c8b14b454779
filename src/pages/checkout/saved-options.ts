// The saved methods of a returning payer, first in the form of the open checkout. The page shows their masked labels alone:
// the address of a checkout may be forwarded.

import { isUuid } from '../../core/ids.ts'
import type { MethodRow } from '../../customers/method.ts'
import { displayLabel } from '../../customers/schema.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { amountOf, type IconName, icon, ltr } from './components.ts'
import type { CheckoutFacts } from './facts.ts'

const VALUE_PREFIX = 'saved:'

const ICONS: Readonly<Record<MethodRow['type'], IconName>> = {
  card: 'card',
  mobile_money: 'mobile_money',
  bank_account: 'bank_transfer',
}

/** The saved methods, and the other ways to pay behind one line until the payer opens it. */
export function savedOptions(facts: CheckoutFacts, others: readonly Html[], isChosen: boolean): Html {
  const options = facts.savedMethods.map((method, index) =>
    savedOption(facts, method, index, isChosen && index === 0),
  )
  return html`${options}<details class="ways"${!isChosen && html` open`}><summary>${facts.translator.t('anotherWay')}</summary>${others}</details>`
}

function savedOption(facts: CheckoutFacts, method: MethodRow, index: number, isChecked: boolean): Html {
  const { translator, merchant } = facts
  const id = `saved-${index + 1}`
  return html`<div class="way"><input type="radio" name="channel" id="${id}" value="${VALUE_PREFIX}${method.id}" aria-describedby="${id}-hint"${isChecked && html` checked`}>
<label for="${id}">${icon(ICONS[method.type])}<span>${ltr(displayLabel(method))}</span></label>
<div class="fields"><button class="main">${translator.t('payButton', { amount: amountOf(facts) })}</button>
<p class="dim" id="${id}-hint">${translator.t('savedMethodHint', { merchant: merchant.name })}</p></div></div>`
}

/** The id of the saved method that the payer has chosen; undefined for every other way to pay. */
export function readSavedMethod({ channel = '' }: Readonly<Record<string, string>>): string | undefined {
  const id = channel.startsWith(VALUE_PREFIX) ? channel.slice(VALUE_PREFIX.length) : ''
  return isUuid(id) ? id : undefined
}
