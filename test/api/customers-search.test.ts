import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertRefused } from '../support/answers.ts'
import { initiateBody } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const PEOPLE = [
  { firstname: 'Amina', lastname: 'Odhiambo', email: 'amina.o@example.com' },
  { firstname: 'Élodie', lastname: 'N’Diaye', email: 'elodie@exemple.sn' },
  { firstname: 'José', lastname: 'Mañana', email: 'JOSE@Example.org' },
  { firstname: '100%', lastname: 'Sure_Thing', email: 'literal%percent@example.com' },
  { firstname: 'Back\\slash', lastname: 'Path', email: 'under_score@example.com' },
  { firstname: 'Ὀδυσσεύς', lastname: 'Ελύτης', email: 'odysseas@example.gr' },
  { firstname: '明', lastname: '王', email: 'wang@example.cn' },
  { firstname: 'Plain', lastname: 'Person', email: 'sureXthing@example.com' },
]

for (const customer of PEOPLE) {
  const made = await service.api.post('/api/v1/checkout/initiate-payment', initiateBody({ customer }))
  assert.equal(made.http, 201, made.text)
}

/** The first names that a search finds. */
async function found(search: string): Promise<string[]> {
  const answer = await service.api.get(`/api/v1/customers?search=${encodeURIComponent(search)}`)
  assert.equal(answer.http, 200, answer.text)
  assert.equal(answer.body.meta.total, answer.body.data.length)
  return answer.body.data.map(({ firstname }: { firstname: string }) => firstname).sort()
}

describe('searching customers', () => {
  it('finds any part of the first name, the last name, both, and the e-mail', async () => {
    for (const text of [
      'amin',
      'mina',
      'odhia',
      'amina odh',
      'a o',
      'amina.o@',
      '.o@example.com',
      'Odhiambo',
    ]) {
      assert.ok((await found(text)).includes('Amina'), text)
    }
    assert.deepEqual(await found('odhiambo amina'), [])
    assert.deepEqual(await found('nobody at all'), [])
  })

  it('takes one character', async () => {
    assert.deepEqual(await found('明'), ['明'])
    assert.deepEqual(await found('王'), ['明'])
    assert.ok((await found('@')).length === PEOPLE.length)
  })

  it('does not care for upper and lower case, in every alphabet', async () => {
    for (const text of ['AMINA', 'aMiNa OdHiAmBo', 'AMINA.O@EXAMPLE.COM']) {
      assert.deepEqual(await found(text), ['Amina'], text)
    }
    assert.deepEqual(await found('ÉLODIE'), ['Élodie'])
    assert.deepEqual(await found('élodie'), ['Élodie'])
    assert.deepEqual(await found('MAÑANA'), ['José'])
    assert.deepEqual(await found('jose@EXAMPLE.ORG'), ['José'])
    assert.deepEqual(await found('ΕΛΎΤΗ'), ['Ὀδυσσεύς'])
  })

  it('finds an accent however its characters are composed', async () => {
    assert.deepEqual(await found('E\u0301lodie'), ['Élodie'])
    assert.deepEqual(await found('man\u0303ana'), ['José'])
  })

  it('tells an accent from its letter', async () => {
    assert.deepEqual(await found('Elodie'), ['Élodie'], 'by the e-mail')
    assert.deepEqual(await found('Elodie n'), [])
  })

  it('takes %, _ and \\ as what they are', async () => {
    assert.deepEqual(await found('%'), ['100%'])
    assert.deepEqual(await found('100%'), ['100%'])
    assert.deepEqual(await found('literal%percent'), ['100%'])
    assert.deepEqual(await found('sure_thing'), ['100%'])
    assert.deepEqual(await found('_'), ['100%', 'Back\\slash'])
    assert.deepEqual(await found('\\'), ['Back\\slash'])
    assert.deepEqual(await found('back\\slash p'), ['Back\\slash'])
    assert.deepEqual(await found('%amina%'), [])
    assert.deepEqual(await found("' or true --"), [])
  })

  it('does not match across the name and the e-mail', async () => {
    assert.deepEqual(await found('odhiamboamina'), [])
    assert.deepEqual(await found('odhiambo amina.o'), [])
  })

  it('takes 1 to 100 characters', async () => {
    assert.deepEqual(await found('x'.repeat(100)), [])
    assert.deepEqual(await found('王'.repeat(100)), [])
    assert.deepEqual(await found('😀'.repeat(100)), [])
    for (const search of [
      '',
      'x'.repeat(101),
      '王'.repeat(101),
      '%00',
      'a%00b',
      'a%0Ab',
      '%ED%A0%80',
      '%FF',
      '%',
    ]) {
      const text = /^%/.test(search) || search.includes('%') ? search : encodeURIComponent(search)
      assertRefused(await service.api.get(`/api/v1/customers?search=${text}`), 400, 'validation_failed')
    }
  })

  it('goes on by cursor, also with the longest search', async () => {
    const { api } = await service.newMerchant()
    const name = '王'.repeat(99)
    for (const number of [1, 2, 3]) {
      const customer = { firstname: `${number}${name}`, lastname: 'X', email: `long${number}@example.com` }
      await api.post('/api/v1/checkout/initiate-payment', initiateBody({ customer }))
    }
    const search = encodeURIComponent(name)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const answer = await api.get(
        `/api/v1/customers?limit=1&search=${search}${cursor === '' ? '' : `&cursor=${cursor}`}`,
      )
      assert.equal(answer.http, 200, answer.text)
      seen.push(answer.body.data[0].firstname[0])
      cursor = answer.body.meta.nextCursor
    }
    assert.deepEqual(seen, ['3', '2', '1'])
  })
})
