// The wallet: balances by currency, why they are what they are, and the statement down to each payment.

import { CURRENCY_CODES } from '../../core/currency.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { endOfDay, startOfDay } from '../../kit/time-zone.ts'
import { LINE_KIND_NAMES } from '../../ledger/statement.ts'
import { addressWith, type Column, table, written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { ScreenRequest } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import { PAYMENTS_PATH } from './payments.ts'

interface Balance {
  currency: string
  availableBalance: string
  pendingBalance: string
}

export interface Transaction extends Balance {
  number: number
  type: string
  balance: string
  amount: string
  payment: { uuid: string; reference: string } | null
  createdAt: string
}

export const walletScreens = listScreens<Transaction>({
  path: '/wallet',
  title: 'walletTitle',
  list: 'wallet.listTransactions',
  exports: 'wallet.exportTransactions',
  filters: [
    { name: 'currency', label: 'currency', values: CURRENCY_CODES },
    { name: 'type', label: 'entry', values: LINE_KIND_NAMES, prefix: 'entry' },
    { name: 'createdFrom', label: 'from', type: 'date' },
    { name: 'createdTo', label: 'to', type: 'date' },
    { name: 'payment', label: 'paymentId' },
  ],
  intro: async (request) =>
    html`${await showBalances(request)}<p class="dim">${request.texts.t('walletOwnAccounts')}</p>${await explain(request)}`,
  columns: (texts) => [
    ...transactionColumns(texts),
    {
      label: texts.t('payment'),
      cell: ({ payment }) =>
        payment &&
        html`<a class="row" href="${PAYMENTS_PATH}/${payment.uuid}">${written(payment.reference)}</a>`,
    },
  ],
  emptyTitle: 'noEntriesTitle',
  emptyText: 'noEntriesText',
})

/** What the line changed, without its payment. */
export function transactionColumns(texts: Texts): Column<Transaction>[] {
  return [
    {
      label: texts.t('entry'),
      isTitle: true,
      cell: ({ type, number, balance }) =>
        html`<b>${texts.word('entry', type)}</b><span class="sub">${texts.number(number)} · ${texts.word('balance', balance)}</span>`,
    },
    {
      label: texts.t('amount'),
      isNumber: true,
      isBeside: true,
      cell: ({ amount, currency }) => texts.amount(amount, currency),
    },
    {
      label: texts.t('available'),
      isNumber: true,
      cell: ({ availableBalance, currency }) => texts.amount(availableBalance, currency),
    },
    {
      label: texts.t('pendingBalance'),
      isNumber: true,
      cell: ({ pendingBalance, currency }) => texts.amount(pendingBalance, currency),
    },
    { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
  ]
}

export const WALLET_PATH = '/app/wallet'

async function showBalances({ call, query, texts }: ScreenRequest): Promise<Html> {
  const { t } = texts
  // A boundary: the operation returns a record of its schema.
  const { balances } = (await call('wallet.balance', { query: { currency: query.currency } })).data as {
    balances: Balance[]
  }
  return html`<div class="columns">${balances.map(
    ({ currency, availableBalance, pendingBalance }) =>
      html`<section class="card"><h2>${currency}</h2><p class="big">${texts.amount(availableBalance, currency)}</p><p class="dim">${t('availableNow')}</p>
<p>${t('pendingNow', { amount: texts.amount(pendingBalance, currency) })}</p><p><a href="${addressWith(WALLET_PATH, {}, { currency })}">${t('whyBalance', { currency })}</a></p></section>`,
  )}</div>`
}

interface Standing {
  when: string
  balance: Balance
}

/** The balances before and after the lines of one currency: the lines between are the difference. */
async function explain({ call, query, texts }: ScreenRequest): Promise<Html | null> {
  const { currency, createdFrom, createdTo, type, payment } = query
  if (!currency || type || payment) return null
  const { t, zone } = texts
  const balanceAt = async (moment: string | undefined): Promise<Balance> => {
    const last = { currency, createdTo: moment, limit: '1' }
    // A boundary: the operation returns records of its schema.
    const [line] = (await call('wallet.listTransactions', { query: last })).data as Transaction[]
    return line ?? { currency, availableBalance: '0', pendingBalance: '0' }
  }
  const [before, after] = await Promise.all([
    createdFrom ? balanceAt(momentBefore(startOfDay(createdFrom, zone))) : null,
    balanceAt(createdTo ? endOfDay(createdTo, zone) : undefined),
  ])
  const rows: Standing[] = [
    { when: t('balanceAfter'), balance: after },
    { when: t('balanceBefore'), balance: before ?? { currency, availableBalance: '0', pendingBalance: '0' } },
  ]
  const amount = (name: 'availableBalance' | 'pendingBalance') => ({
    isNumber: true,
    cell: ({ balance }: Standing) => texts.amount(balance[name], currency),
  })
  return html`<h2>${t('whyBalance', { currency })}</h2><p>${t('whyBalanceText')}</p>${table(
    t('whyBalance', { currency }),
    [
      { label: t('balanceWhen'), isTitle: true, cell: ({ when }) => when },
      { label: t('available'), ...amount('availableBalance') },
      { label: t('pendingBalance'), ...amount('pendingBalance') },
    ],
    rows,
  )}`
}

/** A text that is no moment stays as it is: the API refuses it. */
function momentBefore(iso: string): string {
  const time = Date.parse(iso)
  return Number.isNaN(time) ? iso : new Date(time - 1).toISOString()
}
