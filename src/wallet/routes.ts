import { Type } from 'typebox'
import type { Clock } from '../kit/clock.ts'
import { fileOf, listed, ok, type Route, route } from '../kit/http/route.ts'
import {
  amountText,
  CurrencyCode,
  CurrencyFilter,
  described,
  Enum,
  NamedEnum,
  namedObject,
  PAGE_QUERY,
  text,
  timestamp,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import { LINE_KIND_NAMES, LINE_KINDS } from '../ledger/statement.ts'
import { walletBalance } from './service.ts'
import { exportTransactions, listTransactions, type StatementApp } from './statement.ts'

const BALANCE = {
  currency: CurrencyCode,
  availableBalance: amountText('The settled money. Below zero: refunds and chargebacks took more.'),
  pendingBalance: amountText('The collected money that is not settled yet.'),
}

const WalletBalance = namedObject(
  'WalletBalance',
  {
    ...BALANCE,
    balances: Type.Array(namedObject('CurrencyBalance', BALANCE), {
      description: 'The balances of each currency that you have collected, or of the requested one.',
    }),
    updatedAt: timestamp(
      'When one of these balances last changed, in UTC. If none has ever changed, the time of this response.',
    ),
  },
  { description: 'Your balances. Currencies are never added together.' },
)

const KINDS = Object.entries(LINE_KINDS)
  .map(([kind, meaning]) => `\`${kind}\`: ${meaning}`)
  .join(' ')

const WalletTransaction = namedObject(
  'WalletTransaction',
  {
    number: Type.Integer({
      minimum: 1,
      description: 'The number of the line: counted per currency, from 1, without gaps.',
    }),
    type: NamedEnum('WalletTransactionType', LINE_KIND_NAMES, { description: KINDS }),
    balance: Enum(['available', 'pending'], { description: 'Which of the two balances the line changed.' }),
    amount: amountText('What the line added to the balance. Below zero: what it took from it.'),
    currency: CurrencyCode,
    availableBalance: amountText(
      'The available balance after the line. Below zero: more was debited than was available, and later credits make up for it.',
    ),
    pendingBalance: amountText('The pending balance after the line.'),
    payment: namedObject(
      'PaymentReference',
      {
        uuid: described(Uuid, 'The uuid of the payment or charge.'),
        reference: text('Your reference of the payment or charge.', 'order-1001'),
      },
      { description: 'The payment or charge that caused the line.' },
    ),
    createdAt: timestamp('When the line was posted, in UTC.'),
  },
  { description: 'A line of the statement: one change of one balance.' },
)

const STATEMENT_FILTER = {
  currency: Type.Optional(CurrencyFilter),
  type: Type.Optional(
    NamedEnum('WalletTransactionType', LINE_KIND_NAMES, { description: 'Only lines of this type.' }),
  ),
  payment: Type.Optional(described(UuidInput, 'Only lines of the payment or charge with this uuid.')),
}

export function walletRoutes(app: StatementApp & { clock: Clock }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/wallet/balance',
      tag: 'Misc',
      scope: 'wallet:read',
      operationId: 'wallet.balance',
      summary: 'Get the wallet balance',
      description:
        'Pending money is collected but not settled yet; available money is settled. The top level is your base currency, or the requested one; currencies are never added together. Refunds and chargebacks may debit more than is available: available is then negative until later credits cover it.',
      query: Type.Object({
        currency: Type.Optional(
          described(CurrencyFilter, 'Only the balance of this currency, by its ISO 4217 code. Absent: all.'),
        ),
      }),
      response: { http: 200, data: WalletBalance },
      errors: ['invalid_currency'],
      examples: {
        data: {
          currency: 'KES',
          availableBalance: '12500.00',
          pendingBalance: '1250.50',
          balances: [{ currency: 'KES', availableBalance: '12500.00', pendingBalance: '1250.50' }],
          updatedAt: '2026-03-14T09:26:53.589Z',
        },
      },
      handle: async ({ merchant, query }) =>
        ok('Wallet balance retrieved.', await walletBalance(app, merchant, query.currency)),
    }),
    route({
      method: 'GET',
      path: '/api/v1/wallet/transactions',
      tag: 'Misc',
      scope: 'wallet:read',
      operationId: 'wallet.listTransactions',
      summary: 'List wallet transactions',
      description:
        'Every line that changed a balance, with the balances of its currency after it: the last one has the current balance. Lines are never changed, and their times never decrease.',
      query: Type.Object({ ...PAGE_QUERY, ...STATEMENT_FILTER }),
      response: { http: 200, data: WalletTransaction, list: true },
      errors: ['invalid_currency', 'invalid_uuid'],
      examples: {
        data: {
          number: 42,
          type: 'capture',
          balance: 'pending',
          amount: '1250.50',
          currency: 'KES',
          availableBalance: '12500.00',
          pendingBalance: '1250.50',
          payment: { uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f', reference: 'order-1001' },
          createdAt: '2026-03-14T09:26:53.589Z',
        },
      },
      handle: async ({ merchant, query }) => {
        const { records, meta } = await listTransactions(app, merchant, query)
        return listed('Wallet transactions retrieved.', records, meta)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/wallet/transactions/export',
      tag: 'Misc',
      scope: 'wallet:read',
      operationId: 'wallet.exportTransactions',
      summary: 'Export wallet transactions as CSV',
      description:
        'The statement from its oldest line, as a CSV file (RFC 4180, UTF-8 with a byte order mark) with the fields of the list. A reference that starts like a spreadsheet formula is prefixed with an apostrophe. Times are in the time zone of the merchant. Any number of lines.',
      query: Type.Object({
        ...STATEMENT_FILTER,
        createdFrom: PAGE_QUERY.createdFrom,
        createdTo: PAGE_QUERY.createdTo,
      }),
      response: { http: 200, data: Type.String(), file: 'text/csv' },
      errors: ['invalid_currency', 'invalid_uuid'],
      examples: {
        data: [
          'number,createdAt,type,balance,amount,currency,availableBalance,pendingBalance,payment,reference',
          '"42","2026-03-14T09:26:53.589Z","capture","pending","1250.50","KES","12500.00","1250.50","0197a3c2-7d51-7cc3-98c4-dc0c0c07398f","order-1001"',
          '',
        ].join('\r\n'),
      },
      handle: async ({ merchant, query }) =>
        fileOf('wallet-transactions.csv', exportTransactions(app, merchant, query)),
    }),
  ]
}
