import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { chargeBody, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

it('charges a saved method', async () => {
  const token = await saveMethod(service.api, 'card_success')
  const charge = await service.api.post('/api/v1/charges/recurring', chargeBody(token))
  assert.equal(charge.http, 201, charge.text)
  assert.equal(charge.body.data.status, 'successful')
})
