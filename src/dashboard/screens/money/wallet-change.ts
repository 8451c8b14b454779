// Why a balance is what it is: the balances at both ends of the chosen days, and what each kind of line between them added.

import { type Html, html } from '../../../kit/http/html.ts'
import { endOfDay, startOfDay } from '../../../kit/time-zone.ts'
import type { WalletChange } from '../../../wallet/change.ts'
import { addressWith, archiveNotice, type Column, table } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'

interface Row {
  title: Html | string
  lines?: number
  available: string
  pending: string
}

/** Of one currency; a filter of the lines would leave out a part of the difference. */
export async function explainBalance(request: ScreenRequest, path: string): Promise<Html | null> {
  const { call, query, texts } = request
  const { currency, createdFrom, createdTo, type, payment } = query
  if (!currency || type || payment) return null
  const { t, zone } = texts
  const period = {
    createdFrom: createdFrom ? startOfDay(createdFrom, zone) : undefined,
    createdTo: createdTo ? endOfDay(createdTo, zone) : undefined,
  }
  // A boundary: the operation returns this record.
  const change = (await call('wallet.change', { query: { currency, ...period } })).data as WalletChange
  const title = t('whyBalance', { currency })
  const linkTo = (kind: string, text: string) =>
    html`<a href="${addressWith(path, query, { type: kind, cursor: undefined, page: undefined })}">${text}</a>`
  return html`<h2>${title}</h2><p>${t('whyBalanceText')}</p>${table(title, columnsOf(texts, currency), rowsOf(change, texts, linkTo))}<p class="dim">${noteOf(change, texts)}</p>${archiveNotice(texts, change.since)}`
}

function rowsOf({ before, after, parts, fees }: WalletChange, texts: Texts, linkTo: LinkTo): Row[] {
  const { t } = texts
  return [
    { title: t('balanceAfter'), available: after.availableBalance, pending: after.pendingBalance },
    ...(parts ?? []).flatMap(({ type, lines, available, pending }) =>
      type === 'capture'
        ? [
            { title: linkTo(type, t('grossPayments')), lines, available, pending },
            { title: t('fees'), available: '0', pending: fees },
          ]
        : [{ title: linkTo(type, texts.word('entry', type)), lines, available, pending }],
    ),
    { title: t('balanceBefore'), available: before.availableBalance, pending: before.pendingBalance },
  ]
}

type LinkTo = (kind: string, text: string) => Html

function columnsOf(texts: Texts, currency: string): Column<Row>[] {
  const { t } = texts
  const amount = (label: string, name: 'available' | 'pending') => ({
    ...{ label, isNumber: true },
    cell: (row: Row) => texts.amount(row[name], currency),
  })
  return [
    { label: t('balanceWhen'), isTitle: true, cell: ({ title }) => title },
    {
      ...{ label: t('changeLines'), isNumber: true },
      cell: ({ lines }) => lines !== undefined && texts.number(lines),
    },
    amount(t('available'), 'available'),
    amount(t('pendingBalance'), 'pending'),
  ]
}

function noteOf({ lines, maxLines, parts }: WalletChange, { t, number }: Texts): string {
  return parts ? t('changeText') : t('changeTooLong', { lines: number(lines), most: number(maxLines) })
}
