// Who may resolve a case and with what proof, over HTTP: a second person's approval, and references of the provider.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { caseCalls, dataOf, isReplay } from '../support/cases.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { admin } = service
const { caseOf, operatorCaseOf, resolve } = caseCalls(service)
const makeOlder = sql<unknown>`
update cases
set proposal = jsonb_set(proposal, '{at}', to_jsonb((proposal ->> 'at')::timestamptz - interval '1 day'))
where id = $1`

describe('the approval of a second person', () => {
  /** A merchant whose cases from this amount need two people. `key` has the operator create a key of another person. */
  async function newShop(from: number) {
    const { api, uuid } = await service.newMerchant()
    const body = JSON.stringify({ settings: { caseApprovals: [{ currency: 'KES', from }] } })
    const headers = { 'content-type': 'application/json' }
    dataOf(await admin.send('PATCH', `/admin/v1/merchants/${uuid}`, { body, headers }))
    const key = async (): Promise<Api> => {
      const { apiKey } = dataOf(
        await admin.post(`/admin/v1/merchants/${uuid}/keys`, { name: 'Person', scopes: ['*'] }),
      )
      return service.apiWith(apiKey)
    }
    return { api, key }
  }

  const createdBy = async (api: Api): Promise<Api> =>
    service.apiWith(dataOf(await api.post('/api/v1/api-keys', { name: 'Mine', scopes: ['*'] })).apiKey)

  const keyIdOf = async (api: Api): Promise<string> => {
    // A proposal names its key.
    const { uuid } = await caseOf(api, (await payWith(api, 'transfer_underpaid')).uuid)
    return dataOf(await resolve(api, uuid, 'return')).proposal.by.slice('key:'.length)
  }

  const rotatedBy = async (api: Api, keyId: string): Promise<Api> =>
    service.apiWith(dataOf(await api.post(`/api/v1/api-keys/${keyId}/rotate`, {})).apiKey)

  it('carries out a resolution from the threshold on only when the key of another person sends it too', async () => {
    const { api, key } = await newShop(1250.5)
    const second = await key()
    const payment = await payWith(api, 'transfer_underpaid')
    const { uuid } = await caseOf(api, payment.uuid)
    const proposed = await resolve(api, uuid, 'accept', { note: 'Enough.' })
    assert.deepEqual([proposed.http, proposed.body.data.state], [200, 'awaiting_approval'], proposed.text)
    assert.equal(proposed.body.data.proposal.resolution, 'accept')
    assert.equal(isReplay(await resolve(api, uuid, 'accept')), true)
    assert.equal(dataOf(await api.get(`/api/v1/checkout/payments/${payment.uuid}`)).status, 'processing')
    assertApiError(await resolve(second, uuid, 'return'), 'case_awaiting_approval')
    const approved = dataOf(await resolve(second, uuid, 'accept', { note: 'I agree.' }))
    assert.deepEqual(
      [approved.state, approved.paymentStatus, approved.proposal],
      ['resolved', 'successful', null],
    )
    assert.match(approved.resolvedBy, /^key:\w+, key:\w+$/)
    assert.match(approved.note, /^Enough\.\nApproved by key:\w+: I agree\.$/)
  })

  it('is proposed anew by another person once the proposal is a day old, and then needs a second person again', async () => {
    const { api, key } = await newShop(1250.5)
    const [second, third] = [await key(), await key()]
    const { uuid } = await caseOf(api, (await payWith(api, 'transfer_underpaid')).uuid)
    dataOf(await resolve(api, uuid, 'accept'))
    assertApiError(await resolve(second, uuid, 'return'), 'case_awaiting_approval')
    await service.db.query(makeOlder, [uuid])
    const replaced = dataOf(await resolve(second, uuid, 'return'))
    assert.deepEqual([replaced.state, replaced.proposal.resolution], ['awaiting_approval', 'return'])
    assertApiError(await resolve(third, uuid, 'accept'), 'case_awaiting_approval')
    assert.equal(dataOf(await resolve(third, uuid, 'return')).state, 'resolved')
  })

  it('is needed if the asked or the received amount reaches the threshold', async () => {
    const { api } = await newShop(1250.5)
    const stateOf = async (instrument: 'transfer_underpaid' | 'transfer_overpaid', amount: number) => {
      const { uuid } = await caseOf(api, (await payWith(api, instrument, { amount })).uuid)
      return dataOf(await resolve(api, uuid, 'accept')).state
    }
    assert.equal(await stateOf('transfer_underpaid', 1250), 'resolved')
    assert.equal(await stateOf('transfer_underpaid', 1250.5), 'awaiting_approval')
    assert.equal(await stateOf('transfer_overpaid', 1100), 'resolved')
    assert.equal(await stateOf('transfer_overpaid', 1200), 'awaiting_approval')
  })

  it('is refused with a key that the same person has created or rotated, in every direction', async () => {
    const { api: first, key } = await newShop(1)
    const other = await key()
    const child = await createdBy(first)
    const grandchild = await createdBy(child)
    const sibling = await createdBy(first)
    const successor = await rotatedBy(grandchild, await keyIdOf(grandchild))
    // Rotated by another person, who has its secret: it counts as a key of both.
    const shared = await rotatedBy(other, await keyIdOf(await createdBy(first)))
    const isApproved = async (proposer: Api, approver: Api) => {
      const { uuid } = await caseOf(first, (await payWith(first, 'transfer_underpaid')).uuid)
      dataOf(await resolve(proposer, uuid, 'accept'))
      const answer = await resolve(approver, uuid, 'accept')
      if (answer.http === 200) return answer.body.data.state === 'resolved'
      assertApiError(answer, 'approver_not_independent')
      assert.match(answer.body.message, /which the operator has created/)
      return false
    }
    for (const [proposer, approver] of [
      [first, child],
      [child, first],
      [first, grandchild],
      [successor, first],
      [sibling, grandchild],
      [successor, sibling],
      [first, shared],
      [shared, other],
    ] as const)
      assert.equal(await isApproved(proposer, approver), false)
    assert.equal(await isApproved(grandchild, other), true)
    assert.equal(await isApproved(other, successor), true)
  })
})

describe('a proof', () => {
  const isUnknown = async () => {
    const { api } = await service.newMerchant()
    const payment = await payWith(api, 'card_unknown_status')
    return { api, payment, uuid: (await operatorCaseOf(payment.uuid)).uuid }
  }

  it('proves one payment of a gateway account, also of two concurrent ones', async () => {
    const cases = await Promise.all([isUnknown(), isUnknown(), isUnknown()])
    const proof = `ch_${cases[0].uuid}`
    const answers = await Promise.all(cases.map(({ uuid }) => resolve(admin, uuid, 'mark_paid', { proof })))
    assert.deepEqual(answers.map(({ http }) => http).sort(), [200, 409, 409])
    const paid = cases[answers.findIndex(({ http }) => http === 200)]
    for (const [index, { api, payment, uuid }] of cases.entries()) {
      const { status } = dataOf(await api.get(`/api/v1/checkout/payments/${payment.uuid}`))
      if (payment.uuid === paid?.payment.uuid) {
        assert.equal(status, 'successful')
        assert.equal(isReplay(await resolve(admin, uuid, 'mark_paid', { proof })), true)
        continue
      }
      assert.equal(status, 'processing')
      const refused = answers[index]
      assert.ok(refused)
      assertApiError(refused, 'proof_already_used')
      assert.ok(refused.body.message.includes(paid?.payment.uuid), refused.body.message)
      dataOf(await resolve(admin, uuid, 'mark_paid', { proof: `own_${uuid}` }))
    }
  })

  it('is not the reference of a payment that the gateway has proven', async () => {
    const { api, uuid } = await isUnknown()
    const { gatewayReference: proof } = await payWith(api, 'card_success')
    assertApiError(await resolve(admin, uuid, 'mark_paid', { proof }), 'proof_already_used')
  })
})
