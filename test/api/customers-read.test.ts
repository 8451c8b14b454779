import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertErrorCode, withoutRequestId } from '../support/assertions.ts'
import { CUSTOMER, payWith } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const other = await service.newMerchant()
const { customer: theirs } = await payWith(other.api, 'card_success')
const { customer: ours } = await payWith(service.api, 'card_success')

const UNKNOWN = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

const MALFORMED = [
  '1',
  'nonsense',
  'null',
  UNKNOWN.toUpperCase(),
  `{${UNKNOWN}}`,
  `%7B${UNKNOWN}%7D`,
  UNKNOWN.replaceAll('-', ''),
  `${UNKNOWN}0`,
  UNKNOWN.slice(1),
  `${UNKNOWN}%00`,
  `${UNKNOWN}%0A`,
  `%20${UNKNOWN}`,
  '%00',
  "'%20or%201=1--",
  '%EF%BC%91',
  '__proto__',
]

for (const path of ['/api/v1/customers/{uuid}', '/api/v1/customers/{uuid}/payment-methods']) {
  const pathOf = (uuid: string) => path.replace('{uuid}', uuid)

  describe(`GET ${path}`, () => {
    it(`rejects a request without a key on ${path}`, async () => {
      assertErrorCode(await service.apiWith(undefined).get(pathOf(ours.uuid)), 401, 'missing_api_key')
    })

    it(`answers the same for another merchant’s customer as for an unknown one on ${path}`, async () => {
      const foreign = await service.api.get(pathOf(theirs.uuid))
      const unknown = await service.api.get(pathOf(UNKNOWN))
      assertErrorCode(foreign, 404, 'customer_not_found')
      assert.deepEqual(withoutRequestId(foreign), withoutRequestId(unknown))
      assert.equal((await other.api.get(pathOf(theirs.uuid))).http, 200)
    })

    it(`rejects a malformed uuid before any lookup on ${path}`, async () => {
      for (const uuid of MALFORMED) {
        const answer = await service.api.get(pathOf(uuid))
        assertErrorCode(answer, 400, 'invalid_uuid')
        assert.deepEqual(
          answer.body.error.details.map(({ field, code }: Record<string, string>) => ({ field, code })),
          [{ field: 'uuid', code: 'invalid_uuid' }],
          uuid,
        )
      }
    })

    it(`checks the key before the uuid on ${path}`, async () => {
      assertErrorCode(await service.apiWith(undefined).get(pathOf('nonsense')), 401, 'missing_api_key')
    })
  })
}

describe('GET /api/v1/customers', () => {
  it('rejects listing customers without a key', async () => {
    assertErrorCode(await service.apiWith(undefined).get('/api/v1/customers'), 401, 'missing_api_key')
  })

  it('never lists another merchant’s customers, also when both have one with the same e-mail', async () => {
    for (const query of ['', `?search=${CUSTOMER.email}`, '?search=odhiambo', '?sort=createdAt:asc']) {
      const mine = await service.api.get(`/api/v1/customers${query}`)
      const others = await other.api.get(`/api/v1/customers${query}`)
      assert.deepEqual(uuidsOf(mine), [ours.uuid])
      assert.deepEqual(uuidsOf(others), [theirs.uuid])
      assert.equal(mine.body.meta.total, 1)
    }
  })
})

function uuidsOf({ body }: { body: { data: { uuid: string }[] } }): string[] {
  return body.data.map(({ uuid }) => uuid)
}
