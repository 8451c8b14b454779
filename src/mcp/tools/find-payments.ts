import { Type } from 'typebox'
import { CURRENCY_CODES } from '../../core/currency.ts'
import { FAILURES, type FailureCode } from '../../core/failures.ts'
import { Enum } from '../../kit/http/schema.ts'
import { STATUS_MEANINGS } from '../../payments/states.ts'
import {
  findByUuid,
  findListed,
  PAYMENT_SCOPES,
  type PaymentRecord,
  readPayments,
  summarizePayment,
} from '../payment.ts'
import { readTool, type ToolAnswer, type ToolContext } from '../tool.ts'
import { Amount, Cursor, counted, Time } from './fields.ts'

// Object.keys returns string[]; the keys of this constant are exactly those of its type.
const FAILURE_CODES = Object.keys(FAILURES) as FailureCode[]

/** More would fill the context of a model; the next page is one call away. */
const MAX_ROWS = 25
const DEFAULT_ROWS = 10

export const findPayments = readTool({
  name: 'find_payments',
  title: 'Find payments',
  description:
    'Finds payments and charges, newest first, by any of: a text (part of a reference or e-mail, a receipt code, a whole reference at the provider, or a uuid), status, amount, currency, gateway, failure and time. All filters apply together.',
  scopes: PAYMENT_SCOPES,
  input: {
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description:
          'A uuid, part of your reference or of the e-mail, a receipt code, or a provider’s reference.',
      }),
    ),
    status: Type.Optional(
      Type.Array(Enum(Object.keys(STATUS_MEANINGS)), {
        minItems: 1,
        description: 'One status or several. pending and processing are open, the others have ended.',
      }),
    ),
    amount: Type.Optional(Amount('Exactly this amount.')),
    minAmount: Type.Optional(Amount('From this amount.')),
    maxAmount: Type.Optional(Amount('Up to this amount.')),
    currency: Type.Optional(Enum(CURRENCY_CODES, { description: 'Only this currency.' })),
    paymentGateway: Type.Optional(Type.String({ maxLength: 40, description: 'Such as paystack.' })),
    failureCode: Type.Optional(
      Enum(FAILURE_CODES, {
        description: 'Only failed payments with this failure; explain_error explains it.',
      }),
    ),
    createdFrom: Type.Optional(Time('Created from this time on.')),
    createdTo: Type.Optional(Time('Created until this time.')),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_ROWS, description: `${DEFAULT_ROWS} if absent.` }),
    ),
    cursor: Type.Optional(Cursor),
  },
  async run(context, { amount, status, limit = DEFAULT_ROWS, ...filters }) {
    const query = {
      ...filters,
      status: status?.join(','),
      minAmount: amount ?? filters.minAmount,
      maxAmount: amount ?? filters.maxAmount,
    }
    const identified = await findByUuid(context, query.search ?? '')
    if (identified) return answerWithOne(context, identified, query)
    const { data, meta } = await readPayments(context, { ...query, limit })
    const total = meta.totalIsCapped ? `more than ${meta.total}` : String(meta.total)
    return answerOf(
      context,
      data,
      `${total} found, ${counted(data.length, 'payment')} shown.`,
      meta.nextCursor,
    )
  },
})

interface Filters {
  createdFrom?: string
  createdTo?: string
  cursor?: string
}

/** The payment that its uuid names, if it fits the other filters too. */
async function answerWithOne(
  context: ToolContext,
  payment: PaymentRecord,
  { createdFrom, createdTo, cursor: _, ...filters }: Filters,
): Promise<ToolAnswer> {
  const createdMs = Date.parse(payment.createdAt)
  const isInTime = !(Date.parse(createdFrom ?? '') > createdMs || Date.parse(createdTo ?? '') < createdMs)
  const found = isInTime ? await findListed(context, payment, filters) : undefined
  return found ? answerOf(context, [found], '1 found.', null) : answerOf(context, [], '0 found.', null)
}

function answerOf(
  context: ToolContext,
  rows: readonly PaymentRecord[],
  headline: string,
  nextCursor: string | null,
): ToolAnswer {
  const payments = rows.map((row) => summarizePayment(context, row))
  return { headline, data: { payments, nextCursor } }
}
