import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertErrorCode } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { type SeedCustomer, seedCustomers } from '../support/seed.ts'
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
  it('finds customers by any part of the first name, the last name, both, and the e-mail', async () => {
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
    assert.deepEqual(await found('no such person'), [])
  })

  it('searches for a single character', async () => {
    assert.deepEqual(await found('明'), ['明'])
    assert.deepEqual(await found('王'), ['明'])
    assert.ok((await found('@')).length === PEOPLE.length)
  })

  it('searches customers case-insensitively in every alphabet', async () => {
    for (const text of ['AMINA', 'aMiNa OdHiAmBo', 'AMINA.O@EXAMPLE.COM']) {
      assert.deepEqual(await found(text), ['Amina'], text)
    }
    assert.deepEqual(await found('ÉLODIE'), ['Élodie'])
    assert.deepEqual(await found('élodie'), ['Élodie'])
    assert.deepEqual(await found('MAÑANA'), ['José'])
    assert.deepEqual(await found('jose@EXAMPLE.ORG'), ['José'])
    assert.deepEqual(await found('ΕΛΎΤΗ'), ['Ὀδυσσεύς'])
  })

  it('finds an accent in composed and in decomposed form', async () => {
    assert.deepEqual(await found('E\u0301lodie'), ['Élodie'])
    assert.deepEqual(await found('man\u0303ana'), ['José'])
  })

  it('distinguishes an accented letter from its base letter', async () => {
    assert.deepEqual(await found('Elodie'), ['Élodie'], 'by the e-mail')
    assert.deepEqual(await found('Elodie n'), [])
  })

  it('searches for %, _ and \\ literally', async () => {
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

  it('finds a whole phone number, however it is written', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = (
      await api.post('/api/v1/customers', {
        ...{ email: 'called@example.com', firstname: 'Called', lastname: 'One', phone: '+254712345678' },
      })
    ).body.data
    await api.post('/api/v1/customers', { email: 'other@example.com', firstname: 'Other', lastname: 'One' })
    for (const written of ['+254712345678', '254 712 345 678', '+254 (712) 345-678']) {
      const { data, meta } = (await api.get(`/api/v1/customers?search=${encodeURIComponent(written)}`)).body
      assert.deepEqual([data.map((one: { uuid: string }) => one.uuid), meta.total], [[uuid], 1], written)
    }
    assert.equal((await api.get('/api/v1/customers?search=25471234567')).body.meta.total, 0)
  })

  it('accepts a search of 1 to 100 characters', async () => {
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
      assertErrorCode(await service.api.get(`/api/v1/customers?search=${text}`), 400, 'validation_failed')
    }
  })

  it('continues a search by cursor, also with the longest text', async () => {
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

// More rows than a sequential scan reads, so that the search uses the index.
const MANY = 1_300
const SYLLABLES = [
  'wa',
  'nji',
  'ku',
  "n'",
  'é',
  'o\\',
  '明',
  '%',
  'qz',
  'fa',
  'tou',
  '_',
  'ama',
  '🙂',
  ' ',
  'u',
]

function manyPeople(): SeedCustomer[] {
  const word = (seed: number) =>
    [7, 11, 13].map((step) => SYLLABLES[(seed * step + Math.floor(seed / step)) % SYLLABLES.length]).join('')
  const createdFrom = Date.parse('2026-03-01T00:00:00.000Z')
  return Array.from({ length: MANY }, (_, n) => ({
    firstname: word(n),
    lastname: word(n * 3 + 1),
    email: `${word(n * 5 + 2)}${n}@example.com`,
    createdAt: new Date(createdFrom + n * 1_000),
  }))
}

const merchant = await service.newMerchant()
const people = manyPeople()
await seedCustomers(service.db, merchant.uuid, people)

describe('searching many customers', () => {
  const texts = people.map((one) => `${one.firstname} ${one.lastname}\n${one.email}`.toLowerCase())
  const search = async (text: string, rest = '') => {
    const answer = await merchant.api.get(
      `/api/v1/customers?limit=100&search=${encodeURIComponent(text)}${rest}`,
    )
    assert.equal(answer.http, 200, answer.text)
    return answer.body
  }
  const emailsOf = (data: { email: string }[]) => data.map(({ email }) => email)
  const expected = (text: string) =>
    people.filter((_, n) => texts[n]?.includes(text)).map(({ email }) => email)

  it('finds exactly the customers that contain the text, of any length, in both orders', async () => {
    const cuts = [1, 2, 3, 4, 5, 9].flatMap((length) =>
      [3, 401, 1_111].map((n) => Array.from(texts[n]?.split('\n')[length % 2] ?? '').slice(1, 1 + length)),
    )
    const terms = new Set([...cuts.map((cut) => cut.join('')), 'qz7@ex', 'zzz', '@example.com', "n'", 'o\\'])
    for (const text of terms) {
      const wanted = expected(text)
      const { data, meta } = await search(text)
      assert.equal(meta.total, wanted.length, text)
      assert.deepEqual(emailsOf(data), wanted.toReversed().slice(0, 100), text)
      assert.deepEqual(emailsOf((await search(text, '&sort=createdAt:asc')).data), wanted.slice(0, 100), text)
    }
  })

  it('pages a search by number and by cursor within the time range', async () => {
    const wanted = expected('qz')
    assert.ok(wanted.length > 250, 'at least three pages')
    const first = await search('qz')
    const second = await search('qz', `&cursor=${first.meta.nextCursor}`)
    assert.deepEqual(emailsOf(second.data), wanted.toReversed().slice(100, 200))
    assert.deepEqual(emailsOf((await search('qz', '&page=3')).data), wanted.toReversed().slice(200, 300))
    const half = await search('1@example', '&createdFrom=2026-03-01T00:10:00.000Z')
    assert.equal(
      half.meta.total,
      expected('1@example').filter((email) => !/\D[0-5]?\d\d?@/.test(email)).length,
    )
  })

  it('finds no customer of another merchant', async () => {
    const other = await service.newMerchant()
    await seedCustomers(service.db, other.uuid, manyPeople().slice(0, 1_100))
    assert.equal((await search('qz')).meta.total, expected('qz').length)
    const theirs = await other.api.get('/api/v1/customers?search=1299%40example')
    assert.equal(theirs.body.meta.total, 0)
  })
})
