import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell, issuesIn, read } from '../../../test/support/fake-shell.ts'

const PATH = '/api/v1/things'

describe('the validation of a request', () => {
  it('reports all issues at once, in sentences that name the field', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, {
      name: '',
      amount: '10',
      currency: 'EUR',
      customer: { email: 'not-an-address' },
      tags: ['fine', 'far too long'],
      kind: 'loan',
    })
    assert.equal(response.http, 400)
    assert.equal(read(response).error.code, 'validation_failed')
    assert.deepEqual(
      read(response).error.details.map(({ code, message }) => `${code}: ${message}`),
      [
        'too_short: name must not be empty.',
        'invalid_type: amount must be a number. Send it without quotes.',
        'invalid_currency: currency must be USD or XOF.',
        'invalid_format: customer.email must be an e-mail address, such as ama@example.com.',
        'too_long: tags.1 must be at most 5 characters long.',
        'not_allowed: kind must be one of gift, sale.',
      ],
    )
  })

  it('names a missing field by its dotted path', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, { customer: {} })
    assert.deepEqual(issuesIn(response).sort(), ['customer.email required', 'name required'])
    assert.ok(response.body.includes('customer.email is required.'))
  })

  it('answers with the code that all issues share', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, { name: 'a', currency: 'EUR' })
    assert.equal(read(response).error.code, 'invalid_currency')
    assert.equal(read(response).message, 'currency must be USD or XOF.')
  })

  it('runs the route’s own rules, and reports one issue per field', async () => {
    const { post } = fakeShell()
    assert.deepEqual(issuesIn(await post(PATH, { name: 'rude' })), ['name amount_precision'])
    assert.deepEqual(issuesIn(await post(PATH, '{"name":"a","amount":-10.0000000000000001}')), [
      'amount out_of_range',
    ])
  })

  it('treats null for an optional field as absent, at every level', async () => {
    const { post, seen } = fakeShell()
    const body = { name: 'a', amount: null, currency: null, customer: { email: 'a@b.co', phone: null } }
    assert.equal((await post(PATH, body)).http, 201)
    assert.deepEqual(seen.input?.body, { name: 'a', currency: 'USD', customer: { email: 'a@b.co' } })
  })

  it('keeps null if the schema gives it a meaning, and inside free-form data', async () => {
    const { post, seen } = fakeShell()
    const body = { name: 'a', customer: { email: 'a@b.co', nickname: null }, metadata: { gone: null } }
    assert.equal((await post(PATH, body)).http, 201)
    assert.deepEqual(seen.input?.body, { ...body, currency: 'USD' })
    const tooLong = await post(PATH, { name: 'a', customer: { email: 'a@b.co', nickname: 'abcdef' } })
    assert.deepEqual(issuesIn(tooLong), ['customer.nickname too_long'])
  })

  it('refuses null for a required field, and where x-null is refused', async () => {
    const { post } = fakeShell()
    assert.deepEqual(issuesIn(await post(PATH, { name: null, country: null })), [
      'name invalid_type',
      'country invalid_type',
    ])
  })

  it('F-76: refuses unknown fields, at every level except in free-form data', async () => {
    const { post, seen } = fakeShell()
    const body = {
      name: 'a',
      status: 'successful',
      merchantId: null,
      customer: { email: 'a@b.co', role: 'admin' },
      metadata: { anything: { goes: true } },
    }
    const response = await post(PATH, body)
    assert.equal(response.http, 400)
    assert.equal(read(response).error.code, 'unknown_field')
    assert.deepEqual(issuesIn(response), [
      'status unknown_field',
      'merchantId unknown_field',
      'customer.role unknown_field',
    ])
    assert.equal(seen.input, undefined)
  })

  it('names the known fields where no known one resembles an unknown one', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, { name: 'a', customer: { email: 'a@b.co', shoeSize: 42 } })
    assert.equal(
      read(response).message,
      'customer.shoeSize is not a field of this request; known are email, phone, nickname.',
    )
    const touched = await post(`${PATH}/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f/touch`, { '': 1 })
    assert.equal(
      read(touched).message,
      '(empty) is not a field of this request; this operation takes no fields.',
    )
  })

  it('is unknown_field if one of the issues is, and lists the other issues too', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, { nmae: 'a', amount: 'x' })
    assert.equal(read(response).error.code, 'unknown_field')
    assert.equal(
      read(response).message,
      'nmae is not a field of this request; did you mean name? (2 more in details)',
    )
    assert.deepEqual(issuesIn(response), ['nmae unknown_field', 'name required', 'amount invalid_type'])
  })

  it('suggests a field for at most 100 unknown ones, however many and however long they are', async () => {
    const { post } = fakeShell()
    const many = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`field${index}`, 1]))
    const response = await post(PATH, { name: 'a', ...many })
    assert.equal(read(response).error.details.length, 100)
    const long = await post(PATH, { name: 'a', ['x'.repeat(60_000)]: 1 })
    assert.ok(long.body.length < 2_000, long.body.slice(0, 300))
  })

  it('F-64: refuses control characters and lone surrogates in every string, and names the field', async () => {
    const { post } = fakeShell()
    for (const bad of [
      '\u0000',
      '\u0007',
      '\u001f',
      '\u007f',
      '\u0085',
      '\u009f',
      '\r',
      '\ud800',
      '\udc00x',
    ]) {
      const text = `a${bad}b`
      const body = {
        name: text,
        customer: { email: 'a@b.co', phone: text },
        tags: ['x', bad],
        description: text,
        metadata: { fine: text, list: [{ deep: text }] },
      }
      const response = await post(PATH, body)
      assert.equal(response.http, 400)
      const fields = [
        'name',
        'customer.phone',
        'tags.1',
        'description',
        'metadata.fine',
        'metadata.list.0.deep',
      ]
      assert.deepEqual(
        issuesIn(response).sort(),
        fields.map((field) => `${field} invalid_characters`).sort(),
        JSON.stringify(bad),
      )
    }
    // The name in the issue is a text that every client can read.
    for (const [key, shown] of [
      ['k\u0000', 'k '],
      ['k\ud800', 'k\ufffd'],
    ] as const)
      assert.deepEqual(issuesIn(await post(PATH, { name: 'a', metadata: { [key]: 1 } })), [
        `metadata.${shown} invalid_characters`,
      ])
  })

  it('F-64: accepts tab and newline only in multiline fields', async () => {
    const { post } = fakeShell()
    const lines = 'one\n\ttwo'
    assert.equal((await post(PATH, { name: 'a', description: lines, metadata: { a: [lines] } })).http, 201)
    assert.deepEqual(issuesIn(await post(PATH, { name: lines })), ['name invalid_characters'])
  })

  it('F-64: normalizes names to NFC', async () => {
    const { post, seen } = fakeShell()
    await post(PATH, { name: 'Ame\u0301lie', description: 'Ame\u0301lie' })
    assert.deepEqual(seen.input?.body, { name: 'Amélie', description: 'Ame\u0301lie', currency: 'USD' })
  })

  it('accepts text of every script', async () => {
    const { post } = fakeShell()
    for (const name of ['አበበ', 'محمد', 'Nguyễn', '😀', 'ŋɔ'])
      assert.equal((await post(PATH, { name })).http, 201, name)
  })

  it('limits the number of issues in one response', async () => {
    const { post } = fakeShell()
    const metadata = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`k${index}`, '\u0000']))
    const response = await post(PATH, { name: 'a', metadata })
    assert.equal(response.http, 400)
    assert.equal(read(response).error.details.length, 100)
  })

  it('F-69: refuses a path parameter of the wrong form with the code of its schema', async () => {
    const { get } = fakeShell()
    const uuid = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
    assert.equal((await get(`${PATH}/${uuid}`)).http, 200)
    for (const other of [
      uuid.toUpperCase(),
      `%7B${uuid}%7D`,
      'x',
      '%00',
      `${uuid}%00`,
      '%F0%9F%98%80',
      "'; drop",
    ]) {
      const response = await get(`${PATH}/${encodeURI(decodeURI(other))}`)
      assert.equal(response.http, 400, other)
      assert.match(read(response).error.code, /^(invalid_uuid|validation_failed)$/)
    }
    assert.equal(read(await get(`${PATH}/abc`)).error.code, 'invalid_uuid')
    assert.equal(read(await get(`${PATH}/abc`)).message, 'uuid must be a UUID.')
  })
})

describe('the query string of a request', () => {
  it('is parsed by its schema, with defaults', async () => {
    const { get, seen } = fakeShell()
    await get(`${PATH}?limit=50&search=a%20b+c&active=true`)
    assert.deepEqual(seen.input?.query, { limit: 50, search: 'a b c', active: true, page: 1 })
    await get(PATH)
    assert.deepEqual(seen.input?.query, { page: 1, limit: 20 })
  })

  it('is refused with unknown names, and the response names the parameter that was meant', async () => {
    const { get, seen } = fakeShell()
    const response = await get(`${PATH}?per_page=50&lmit=5&__proto__=x&constructor=y&=z`)
    assert.equal(read(response).error.code, 'unknown_field')
    assert.deepEqual(
      read(response).error.details.map(({ message }) => message),
      [
        'per_page is not a query parameter of this operation; did you mean limit?',
        'lmit is not a query parameter of this operation; did you mean limit?',
        '__proto__ is not a query parameter of this operation; known are page, limit, search, active.',
        'constructor is not a query parameter of this operation; known are page, limit, search, active.',
        '(empty) is not a query parameter of this operation; known are page, limit, search, active.',
      ],
    )
    assert.equal(seen.input, undefined)
  })

  it('F-70: is refused if a number is out of range or in another spelling', async () => {
    const { get } = fakeShell()
    for (const limit of ['0', '-1', '101', '1e9', '2.5', '', '0x10', 'ten', '%2020', '9'.repeat(30), 'NaN'])
      assert.equal((await get(`${PATH}?limit=${limit}`)).http, 400, limit)
    assert.deepEqual(issuesIn(await get(`${PATH}?limit=101&page=x&active=yes`)).sort(), [
      'active invalid_type',
      'limit out_of_range',
      'page invalid_type',
    ])
  })

  it('is refused if a parameter occurs twice', async () => {
    const { get } = fakeShell()
    assert.deepEqual(issuesIn(await get(`${PATH}?page=1&page=2`)), ['page repeated'])
  })

  it('F-64: is refused with control characters or bad percent-encoding', async () => {
    const { get } = fakeShell()
    assert.deepEqual(issuesIn(await get(`${PATH}?search=a%00b`)), ['search invalid_characters'])
    assert.deepEqual(issuesIn(await get(`${PATH}?search=%ff`)), ['query invalid_format'])
    assert.deepEqual(issuesIn(await get(`${PATH}?search=%zz`)), ['query invalid_format'])
  })

  it('must be empty if the operation takes no parameters', async () => {
    const { get } = fakeShell()
    const url = `${PATH}/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f`
    assert.equal((await get(`${url}?`)).http, 200)
    const response = await get(`${url}?expand=owner`)
    assert.equal(read(response).message, 'expand is not a query parameter of this operation; it takes none.')
  })
})

describe('the Idempotency-Key header', () => {
  it('reaches the handler if it is 1 to 255 ASCII characters', async () => {
    const { post, seen } = fakeShell()
    await post(PATH, { name: 'a' }, { 'idempotency-key': 'order-17' })
    assert.equal(seen.input?.idempotencyKey, 'order-17')
    await post(PATH, { name: 'a' })
    assert.equal(seen.input?.idempotencyKey, undefined)
    for (const key of ['two words', 'k'.repeat(255)]) {
      assert.equal((await post(PATH, { name: 'a' }, { 'idempotency-key': key })).http, 201, key)
    }
  })

  it('is refused otherwise, and the issue names the header', async () => {
    const { post } = fakeShell()
    for (const key of ['', 'k'.repeat(256), 'ümlaut']) {
      const response = await post(PATH, { name: 'a' }, { 'idempotency-key': key })
      assert.equal(response.http, 400, key)
      assert.deepEqual(issuesIn(response), ['Idempotency-Key invalid_format'])
    }
  })
})
