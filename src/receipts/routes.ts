// A person sends the receipt of a payment to its payer again. Limited per payment, because it sends mail to others.

import { ApiError } from '../core/errors.ts'
import type { Merchant, Principal } from '../core/merchant.ts'
import { isPlaceholderEmail } from '../core/text/placeholder-email.ts'
import { addMs } from '../kit/clock.ts'
import { isReplay } from '../kit/db/idempotency.ts'
import { ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { checkoutUrl, openAccessCode } from '../payments/views.ts'
import { countSent, insertSent } from './queries.ts'
import type { Receipt } from './receipt.ts'

const PATH = '/app/payments/{uuid}/receipt'
const DAY_MS = 24 * 3_600_000
/** More would annoy the payer, and the mail server. */
const MOST_PER_DAY = 3

export function receiptRoutes(app: PaymentsApp): PersonRoute[] {
  return [
    personRoute({
      method: 'POST',
      path: PATH,
      scope: 'receipts:send',
      operationId: 'receipts.send',
      params: UuidParams,
      handle: async ({ merchant, principal, params, idempotencyKey }) => {
        const payment = await requirePayment(app, merchant, params)
        const link = receiptLink(app, payment)
        const isReplayed = await recordSent(app, merchant, principal, payment, idempotencyKey)
        const { locale } = await app.merchantProfile(merchant.id)
        const email = isPlaceholderEmail(payment.customerEmail) ? null : payment.customerEmail
        const receipt: Receipt = { link, email, language: locale, isReplayed }
        return ok('The receipt may be sent.', receipt)
      },
    }),
  ]
}

function receiptLink(app: PaymentsApp, payment: PaymentRow): string {
  const accessCode = openAccessCode(app, payment)
  if (payment.paidAt === null || accessCode === null)
    throw new ApiError('invalid_state', {
      message: 'Only a payment that was paid on a checkout page has a receipt.',
    })
  return `${checkoutUrl(app, accessCode)}/receipt`
}

/** True if the same request was made before. */
async function recordSent(
  app: PaymentsApp,
  merchant: Merchant,
  { id: userId }: Principal,
  { id: paymentId }: PaymentRow,
  key: string | undefined,
): Promise<boolean> {
  const merchantId = merchant.id
  const createdAt = app.clock.now()
  const id = app.random.uuid()
  return app.db.transaction(async (tx) => {
    const claim = { merchantId, key, operation: `POST ${PATH}`, input: { paymentId, userId } }
    if (await isReplay(app, tx, claim)) return true
    if ((await countSent(tx, merchantId, paymentId, addMs(createdAt, -DAY_MS))) >= MOST_PER_DAY)
      throw new ApiError('rate_limited', {
        message: `The receipt of a payment is sent at most ${MOST_PER_DAY} times a day.`,
      })
    await insertSent(tx, { merchantId, id, paymentId, userId, createdAt })
    return false
  })
}
