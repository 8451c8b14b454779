// Who may resolve a case and with what proof, over HTTP: a second person's approval, and references of the provider.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { addMs } from '../../src/kit/clock.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { caseCalls, dataOf, isReplay, newProposal, requireTwoPeople } from '../support/cases.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { admin } = service
const { caseOf, operatorCaseOf, resolve } = caseCalls(service)
const makeOlder = sql<unknown>`update cases set proposal = jsonb_set(proposal, '{at}', $2) where id = $1`

const DAY_MS = 24 * 3_600_000

describe('the approval of a second person', () => {
  /** A merchant whose cases from this amount need two people. `key` has the operator create a key of another person. */
  async function newShop(from: number) {
    const { api, uuid } = await service.newMerchant()
    await requireTwoPeople(admin, uuid, from)
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
    const { proposal } = dataOf(await resolve(api, uuid, 'accept'))
    assertApiError(await resolve(second, uuid, 'return'), 'case_awaiting_approval')
    await service.db.query(makeOlder, [uuid, JSON.stringify(addMs(new Date(proposal.at), -DAY_MS))])
    const replaced = dataOf(await resolve(second, uuid, 'return'))
    assert.deepEqual([replaced.state, replaced.proposal.resolution], ['awaiting_approval', 'return'])
    assertApiError(await resolve(third, uuid, 'accept'), 'case_awaiting_approval')
    assert.equal(dataOf(await resolve(third, uuid, 'return')).state, 'resolved')
  })

  it('is of the proposal that it names, and of no other', async () => {
    const { api, key } = await newShop(1)
    const second = await key()
    const uuid = await newProposal(api)
    const { at: proposedAt } = dataOf(await api.get(`/api/v1/cases/${uuid}`)).proposal
    assertApiError(await resolve(api, uuid, 'accept', { proposedAt }), 'approver_not_independent')
    assertApiError(await resolve(second, uuid, 'return', { proposedAt }), 'invalid_state')
    dataOf(await api.post(`/api/v1/cases/${uuid}/reject`, {}))
    assertApiError(await resolve(second, uuid, 'accept', { proposedAt }), 'invalid_state')
    dataOf(await resolve(api, uuid, 'accept'))
    assertApiError(await resolve(second, uuid, 'accept', { proposedAt }), 'invalid_state')
    const { at: later } = dataOf(await api.get(`/api/v1/cases/${uuid}`)).proposal
    assert.equal(dataOf(await resolve(second, uuid, 'accept', { proposedAt: later })).state, 'resolved')
  })

  it('comes once if two people approve, or one approves while another rejects, at the same time', async () => {
    const { api, key } = await newShop(1)
    const [second, third] = [await key(), await key()]
    const uuids = [await newProposal(api), await newProposal(api), await newProposal(api)]
    for (const uuid of uuids) {
      const { at: proposedAt } = dataOf(await api.get(`/api/v1/cases/${uuid}`)).proposal
      const isRejected = uuid !== uuids[0]
      const [approved, other] = await Promise.all([
        resolve(second, uuid, 'accept', { proposedAt }),
        isRejected
          ? third.post(`/api/v1/cases/${uuid}/reject`, { proposedAt })
          : resolve(third, uuid, 'accept', { proposedAt }),
      ])
      const { state, paymentStatus } = dataOf(await api.get(`/api/v1/cases/${uuid}`))
      if (isRejected) assert.deepEqual([approved.http, other.http].sort(), [200, 409], other.text)
      const isPaid = !isRejected || approved.http === 200
      assert.deepEqual(
        [state, paymentStatus],
        isPaid ? ['resolved', 'successful'] : ['open', 'processing'],
        approved.text,
      )
    }
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

describe('the end of a proposal', () => {
  const REJECT = (uuid: string) => `/api/v1/cases/${uuid}/reject`

  it('needs a key, and a case of the merchant with a proposal', async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    await requireTwoPeople(admin, merchant)
    const uuid = await newProposal(api)
    assertApiError(await service.apiWith(undefined).post(REJECT(uuid), {}), 'missing_api_key')
    const { api: other } = await service.newMerchant()
    assertApiError(await other.post(REJECT(uuid), {}), 'case_not_found')
    const card = { note: 'Paid with 4242 4242 4242 4242.' }
    assertApiError(await api.post(REJECT(uuid), card), 'card_data_not_allowed')
    const { uuid: open } = await caseOf(api, (await payWith(api, 'transfer_underpaid')).uuid)
    assertApiError(await api.post(REJECT(open), {}), 'invalid_state')
    const { uuid: unknown } = await payWith(api, 'card_unknown_status')
    assertApiError(await api.post(REJECT((await operatorCaseOf(unknown)).uuid), {}), 'invalid_state')
    dataOf(await resolve(admin, uuid, 'accept'))
    const late = await api.post(REJECT(uuid), {})
    assertApiError(late, 'invalid_state')
    assert.match(late.body.message, /was resolved with accept/)
  })

  it('opens the case again, and is in its history with the person', async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    await requireTwoPeople(admin, merchant)
    const uuid = await newProposal(api)
    const withdrawn = dataOf(await api.post(REJECT(uuid), { note: 'Too early.' }))
    assert.deepEqual([withdrawn.state, withdrawn.proposal], ['open', null])
    assert.equal(isReplay(await api.post(REJECT(uuid), {})), true)
    dataOf(await resolve(api, uuid, 'return'))
    dataOf(await admin.post(`/admin/v1/cases/${uuid}/reject`, { note: 'The rest has come.' }))
    const { data } = (await admin.get(`/admin/v1/cases/${uuid}/timeline`)).body
    const steps = data.filter(({ type }: { type: string }) => /^case_(?!opened)/.test(type))
    assert.deepEqual(
      steps.map(({ type, status, detail, source }: Record<string, string>) => [
        ...[type, status, detail, source?.replace(/:.*/, '')],
      ]),
      [
        ['case_proposed', 'accept', 'Enough.', 'key'],
        ['case_withdrawn', 'accept', 'Too early.', 'key'],
        ['case_proposed', 'return', 'Decided.', 'key'],
        ['case_rejected', 'return', 'The rest has come.', 'operator'],
      ],
    )
  })
})

describe('a proof', () => {
  const isUnknown = async () => {
    const { api } = await service.newMerchant()
    const payment = await payWith(api, 'card_unknown_status')
    return { api, payment, uuid: (await operatorCaseOf(payment.uuid)).uuid }
  }

  // Payments of two cells can have the same proof.
  it('proves one payment of a gateway account, also of two concurrent ones', ONE_DATABASE, async () => {
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

  it('takes the place of the reference of the gateway in the payment, and the case and a search have both', async () => {
    const { api, payment, uuid } = await isUnknown()
    const { gatewayReference: earlier } = dataOf(await admin.get(`/admin/v1/cases/${uuid}`))
    assert.ok(earlier, 'the gateway gave a reference')
    const proof = `seen_${uuid}`
    const record = dataOf(await resolve(admin, uuid, 'mark_paid', { proof }))
    assert.deepEqual([record.gatewayReference, record.proof], [earlier, proof])
    const { data: events } = (await api.get('/api/v1/events?type=case.resolved')).body
    const { gatewayReference, proof: sent } = events[0].data
    assert.deepEqual([gatewayReference, sent], [earlier, proof])
    for (const name of [earlier, proof]) {
      const [found] = dataOf(await api.get(`/api/v1/payments?gatewayReference=${name}`))
      assert.deepEqual([found?.uuid, found?.gatewayReference], [payment.uuid, proof])
    }
  })

  it('is not the reference of a payment that the gateway has proven', async () => {
    const { api, uuid } = await isUnknown()
    const { gatewayReference: proof } = await payWith(api, 'card_success')
    assertApiError(await resolve(admin, uuid, 'mark_paid', { proof }), 'proof_already_used')
  })
})
