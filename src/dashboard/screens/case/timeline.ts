// What happened to the payment of a case, and when the gateway was asked last.

import { type Html, html } from '../../../kit/http/html.ts'
import type { HistoryEntry } from '../../../timeline/history.ts'
import { written } from '../../frame/components.ts'
import type { AreaRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { historyList } from '../payment/history.ts'
import { type NameOf, peopleOf } from './people.ts'
import type { Case } from './record.ts'

export async function loadTimeline({ base, call, allows }: AreaRequest, one: Case): Promise<HistoryEntry[]> {
  const isOps = base === '/ops'
  if (!isOps && !allows('payments.history')) return []
  const { data } = isOps
    ? await call('cases.timeline', { params: { uuid: one.uuid } })
    : await call('payments.history', { params: { uuid: one.paymentUuid } })
  // A boundary: both operations return records of this type.
  return data as HistoryEntry[]
}

/** By a person, or by the service itself. */
export function lastAsked(
  entries: readonly HistoryEntry[],
  { uuid, attemptUuid }: Case,
  texts: Texts,
  nameOf: NameOf,
): Html | null {
  const last = entries.findLast(
    (one) =>
      (one.type === 'case_asked' && one.uuid === uuid) ||
      (one.type === 'gateway_asked' && one.uuid === attemptUuid),
  )
  if (!last) return null
  if (last.type === 'gateway_asked')
    return html`${texts.time(last.at)}<span class="sub">${texts.t('actor_service')}</span>`
  return html`${texts.time(last.at)}<span class="sub">${peopleOf(last.source, texts, nameOf)}</span><span class="sub">${texts.word('answer', last.status)}</span>${last.detail && html`<span class="sub">${written(last.detail)}</span>`}`
}

/** Operators have no page of the payment, so they see all of it here. */
export function timelineCard(
  { base, texts }: AreaRequest,
  entries: readonly HistoryEntry[],
  one: Case,
  nameOf: NameOf,
): Html | null {
  const isOfCase = ({ type, uuid }: HistoryEntry) => type.startsWith('case_') && uuid === one.uuid
  const shown = base === '/ops' ? entries : entries.filter(isOfCase)
  if (shown.length === 0) return null
  const title = texts.t(base === '/ops' ? 'timeline' : 'caseHistory')
  const list = historyList(shown, one.currency, { texts, nameOf, addressOf: () => null })
  return html`<section class="card"><h2>${title}</h2>${list}</section>`
}
