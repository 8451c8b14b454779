// What happened to a payment, in words: every code of the API has a text in every language, and people have names.

import { type Html, type HtmlValue, html } from '../../../kit/http/html.ts'
import { isAfterRefund } from '../../../timeline/describe.ts'
import type { HistoryEntry } from '../../../timeline/history.ts'
import { archiveNotice, written } from '../../frame/components.ts'
import { loadNames } from '../../frame/names.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { type NameOf, noteLines, peopleOf } from '../case/people.ts'
import { CASES_PATH, type Payment } from '../payments.ts'
import { REQUESTS_PATH } from '../refunds.ts'

export async function historyOf(request: ScreenRequest, { uuid, sourceCurrency }: Payment): Promise<Html> {
  const { call, texts } = request
  const [{ data, meta }, nameOf] = await Promise.all([
    call('payments.history', { params: { uuid } }),
    loadNames(request),
  ])
  // A boundary: the operation returns records of this type.
  const entries = data as HistoryEntry[]
  const means = { texts, nameOf, addressOf: (one: HistoryEntry) => addressOf(one, request) }
  return html`${archiveNotice(texts, meta?.archivedBefore)}${historyList(entries, sourceCurrency, means)}`
}

interface Means {
  texts: Texts
  nameOf: NameOf
  addressOf(entry: HistoryEntry): string | null
}

/** For each entry a sentence, and below it what else is known. */
export function historyList(entries: readonly HistoryEntry[], currency: string, means: Means): Html {
  const { texts, nameOf } = means
  return html`<ol class="timeline">${entries.map((entry) => {
    const sentence = sentenceOf(entry, currency, texts)
    const address = means.addressOf(entry)
    return html`<li>${texts.time(entry.at)}<div>${address ? html`<a href="${address}">${sentence}</a>` : sentence}${detailsOf(entry, currency, texts, nameOf).map((one) => html`<span class="sub">${one}</span>`)}</div></li>`
  })}</ol>`
}

function addressOf({ type, uuid }: HistoryEntry, { allows }: ScreenRequest): string | null {
  if (type.startsWith('case_') && allows('cases.get')) return `${CASES_PATH}/${uuid}`
  return type.startsWith('refund_approval_') && allows('refundRequests.get')
    ? `${REQUESTS_PATH}/${uuid}`
    : null
}

function sentenceOf(entry: HistoryEntry, currency: string, { t, word, amount }: Texts): string {
  const { type, status, source, count } = entry
  if (type === 'status_changed' && count === 1) return t('happened_created')
  return t(`happened_${type}`, {
    ...{ gateway: source ?? '', amount: amount(entry.amount, currency), count: count ?? 1 },
    status: word(type === 'refund_ended' ? 'refundStatus' : 'status', status),
    case: word('case', status),
    resolution: word('resolution', status),
  })
}

function byPeople({ source, detail }: HistoryEntry, texts: Texts, nameOf: NameOf): readonly HtmlValue[] {
  return [noteLines(detail, source, texts, nameOf), peopleOf(source, texts, nameOf)]
}

const DETAILS: Partial<
  Record<HistoryEntry['type'], (entry: HistoryEntry, texts: Texts, nameOf: NameOf) => readonly HtmlValue[]>
> = {
  status_changed: ({ status, detail, source, count }, { word }) => [
    detail && word('reason', detail),
    count !== 1 && !isAfterRefund(status) && word('movedBy', source),
  ],
  attempt_started: ({ detail }, { word }) => [word('channel', detail)],
  attempt_ended: ({ detail }, { word }) => [detail && word('failure', detail)],
  refund_approval_requested: ({ source, detail }, _, nameOf) => [nameOf(source), written(detail)],
  refund_approval_decided: ({ source, detail }, _, nameOf) => [nameOf(source), written(detail)],
  dispute_opened: ({ detail }) => [detail && html`<code>${detail}</code>`],
  case_asked: ({ status, source, detail }, texts, nameOf) => [
    texts.word('answer', status),
    written(detail),
    peopleOf(source, texts, nameOf),
  ],
  case_proposed: byPeople,
  case_rejected: byPeople,
  case_withdrawn: byPeople,
  case_resolved: byPeople,
}

function detailsOf(entry: HistoryEntry, currency: string, texts: Texts, nameOf: NameOf): HtmlValue[] {
  const details = DETAILS[entry.type] ?? (({ detail }) => [written(detail)])
  const received = entry.type === 'attempt_ended' && texts.amount(entry.amount, currency)
  return [received, ...details(entry, texts, nameOf)].filter(Boolean)
}
