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

/** By a person, with the answer, and by the service itself if that was later. */
export function lastAsked(
  entries: readonly HistoryEntry[],
  { uuid, attemptUuid }: Case,
  texts: Texts,
  nameOf: NameOf,
): Html | null {
  const asked = entries.findLast(({ type, uuid: id }) => type === 'case_asked' && id === uuid)
  const polled = entries.findLast(({ type, uuid: id }) => type === 'gateway_asked' && id === attemptUuid)
  const isLater = polled && (!asked || polled.at > asked.at)
  if (!asked && !polled) return null
  return html`${isLater && html`${texts.time(polled.at)}<span class="sub">${texts.t('actor_service')}</span>`}${asked && askedBy(asked, texts, nameOf)}`
}

const askedBy = ({ at, source, status, detail }: HistoryEntry, texts: Texts, nameOf: NameOf) =>
  html`${texts.time(at)}<span class="sub">${peopleOf(source, texts, nameOf)}</span><span class="sub">${texts.word('answer', status)}</span>${detail && html`<span class="sub">${written(detail)}</span>`}`

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
