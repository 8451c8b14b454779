// The answer to a path that no operation has names the path that was meant.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const anonymous = service.apiWith(undefined)
const INITIATE = '/api/v1/checkout/initiate-payment'
const VERIFY = '/api/v1/checkout/verify-payment'

describe('the path that was meant', () => {
  it('is named for another prefix, spelling or letter case, without repeating the values that were sent', async () => {
    const customer = '/api/v1/customers/{uuid}'
    for (const [path, meant] of [
      ['/v1/customers', '/api/v1/customers'],
      ['/api/customers', '/api/v1/customers'],
      ['/api//v1//customers', '/api/v1/customers'],
      ['/api/v1/customers/', '/api/v1/customers'],
      ['/api/v1/customer', '/api/v1/customers'],
      ['/api/v1/Payment_Links', '/api/v1/payment-links'],
      [`/v1/customers/${UNKNOWN_UUID}/`, customer],
      [`/api/v1/customers/${UNKNOWN_UUID}/paymentMethods`, `${customer}/payment-methods`],
      ['/api/v1/checkout/initiatePayment', INITIATE],
      ['/v3/transaction/initialize', INITIATE],
      ['/transaction/verify/order-17', `${VERIFY}?reference={reference}`],
      [`${VERIFY}/order-1042`, `${VERIFY}?reference={reference}`],
      ['/v3/transactions/17/verify', `${VERIFY}?reference={reference}`],
      [`/api/v1/payments/${UNKNOWN_UUID}`, '/api/v1/checkout/payments/{uuid} or /api/v1/charges/{uuid}'],
      [`/${INITIATE}`, INITIATE],
      ['/admin/merchants', '/admin/v1/merchants'],
    ] as const) {
      const answer = await anonymous.get(path)
      assertApiError(answer, 'route_not_found')
      assert.equal(answer.body.message, `There is no such path; did you mean ${meant}?`)
    }
  })

  it('is not guessed for a path that resembles none', async () => {
    for (const path of ['/', '/nowhere', '/.env', '/wp-login.php', '/%00', `/${'x'.repeat(5_000)}`])
      assert.doesNotMatch((await anonymous.get(path)).text, /did you mean/, path)
  })
})
