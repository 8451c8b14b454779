// Finds a payment, or a charge of a saved method in the form of a payment.

import { ApiError } from '../../../core/errors.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Payment } from '../payments.ts'

export async function findPayment({ call }: ScreenRequest, uuid: string): Promise<Payment> {
  const params = { uuid }
  try {
    // A boundary: the operations return records of these schemas.
    return (await call('payments.get', { params })).data as Payment
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'payment_not_found')) throw error
    const charge = (await call('charges.get', { params })).data as { gatewayKey: string }
    // The key of its attempt is its own, while its reference may be a part of many others.
    const query = { gatewayReference: charge.gatewayKey, kind: 'charge' }
    const found = (await call('payments.listAll', { query })).data as Payment[]
    const payment = found.find((one) => one.uuid === uuid)
    if (!payment) throw error
    return payment
  }
}
