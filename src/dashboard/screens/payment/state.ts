// What a payment waits for, and whether a person must decide about it.

import { type Html, html } from '../../../kit/http/html.ts'
import { notice } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import type { Case } from '../case/record.ts'
import { CASES_PATH, type Payment } from '../payments.ts'

export async function stateOf(request: ScreenRequest, payment: Payment): Promise<Html> {
  const { texts } = request
  const cases = await openCases(request, payment)
  const wait = cases.length === 0 && waitText(payment, texts)
  const { expiresAt, status } = payment
  const end =
    status === 'pending' && expiresAt !== null && html` ${texts.t('expiresAt')} ${texts.time(expiresAt)}`
  return html`${cases.map((one) =>
    notice(
      'wait',
      html`<p>${texts.t('caseIsOpen', { case: texts.word('case', one.kind) })} <a href="${CASES_PATH}/${one.uuid}">${texts.t('look')}</a></p>`,
    ),
  )}${wait && notice('neutral', html`<p>${wait}${end}</p>`)}`
}

async function openCases({ call, allows }: ScreenRequest, { uuid }: Payment): Promise<Case[]> {
  if (!allows('cases.list') || !allows('cases.get')) return []
  // A boundary: the operation returns records of this schema. Without a state it returns the open ones.
  return (await call('cases.list', { query: { payment: uuid } })).data as Case[]
}

/** Null for a payment that has ended. */
function waitText({ status, statusReason, attempts }: Payment, { t, word }: Texts): string | null {
  if (status !== 'pending' && status !== 'processing') return null
  if (statusReason !== null) return word('reason', statusReason)
  if (status === 'processing') return t('waits_gateway')
  return t(attempts.length === 0 ? 'waits_not_started' : 'waits_next_attempt')
}
