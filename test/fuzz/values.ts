// Values for the fields of a request: valid by the document, and hostile.

import fc from 'fast-check'
import type { Document } from '../support/openapi.ts'

/** A value that is known only when the request is sent, from an earlier response. */
export class PoolValue {
  readonly from: string
  readonly at: number

  constructor(from: string, at: number) {
    this.from = from
    this.at = at
  }
}

/** A new unique name. */
export class UniqueName {}

/** Raw JSON text for values that JSON.stringify cannot produce: -0, 1e400. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

// Any value, or one of the newest: other requests have not ended it yet.
const position = fc.oneof(fc.nat({ max: 1_000 }), fc.nat({ max: 3 }))

export const fromPool = (from: string) => position.map((at) => new PoolValue(from, at))

const EMAILS = Array.from({ length: 10 }, (_, index) => `payer${index}@example.com`)
// Instruments with an immediate outcome: the others are slow on purpose, or lose the provider's response.
const INSTRUMENTS = [
  'card_success',
  'card_success',
  'card_3ds',
  'card_declined',
  'card_declined_later',
  'card_refund_pending',
  'card_refund_declined',
  'mobile_success',
  'mobile_cancelled',
  'mobile_late_success',
  'transfer_success',
  'transfer_underpaid',
]

const amount = fc.oneof(
  fc.integer({ min: 1, max: 2_000 }),
  fc.integer({ min: 1, max: 200_000 }).map((minor) => minor / 100),
)
const pastTime = fc
  .integer({ min: 0, max: 59 })
  .map((second) => `2026-03-14T08:00:${String(second).padStart(2, '0')}Z`)

const pastDate = fc.constantFrom('2026-03-14', '2026-03-15', '2026-11-16')

/** Valid values by the name of the field, where its schema is not specific enough. */
const VALUES_BY_FIELD: Record<string, fc.Arbitrary<unknown>> = {
  reference: fc.oneof(
    { weight: 6, arbitrary: fc.constant(new UniqueName()) },
    { weight: 1, arbitrary: fromPool('reference') },
  ),
  paymentReference: fromPool('reference'),
  refundReference: fc.constant(new UniqueName()),
  email: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...EMAILS) },
    { weight: 1, arbitrary: fc.nat().map((number) => `payer-${number}@example.com`) },
  ),
  amount,
  minAmount: fc.integer({ min: 1, max: 10 }),
  maxAmount: fc.integer({ min: 10, max: 100 }),
  receivedAmount: fc.constantFrom(5000, 5000, 1, 4999.99, 6000),
  recurringToken: fromPool('token'),
  payment: fromPool('payment'),
  uuid: fromPool('payment'),
  paymentUuid: fromPool('payment'),
  resource: fromPool('payment'),
  customer: fromPool('customer'),
  endpoint: fromPool('endpoint'),
  instrument: fc.constantFrom(...INSTRUMENTS),
  url: fc.constantFrom('http://127.0.0.1:9/hook', 'http://localhost:9/other?x=1'),
  redirectUrl: fc.constantFrom('https://shop.example/thanks', 'http://localhost:3000/?a=b#c'),
  expiresAt: fc.constantFrom('2099-01-01T00:00:00.000Z', '2098-12-31T23:59:59+02:00'),
  from: pastTime,
  to: pastTime.map((text) => text.replace('08:00', '09:00')),
  country: fc.constantFrom('KE', 'ke', 'SS', 'SN', 'NG', 'GH'),
  phone: fc.constantFrom('+254712345678', '+211912345678'),
  phoneNumber: fc.constantFrom('0912 345 678', '+211912345678'),
  accountNumber: fc.constantFrom('0123-456', 'KE 00 1234'),
  network: fc.constantFrom('mgurush_ss', 'mpesa_ke'),
  allowedIps: fc.subarray(['127.0.0.1', '203.0.113.0/24', '2001:db8::/32'], { minLength: 1 }),
  paymentGateway: fc.constantFrom('sandbox', 'stripe', 'p2p'),
  keyId: fromPool('key'),
  createdFrom: fc.constantFrom('2026-01-01T00:00:00Z', '2020-02-29T23:59:59.999999999+14:00'),
  createdTo: fc.constantFrom('2126-01-01T00:00:00Z'),
  page: fc.integer({ min: 1, max: 5 }),
  confirmSelf: fc.constant(false),
}

// Letters of many alphabets, combining marks, characters outside the BMP, and syntax of other languages.
const SIGNS = [
  ...'aZ09 -_.,:;!?@#$%&*+=/\\|~^`\'"<>()[]{}',
  ...'éßøñçœ',
  ...'ሀማঅংعربيΩЖ漢字かな한',
  ...'😀🏽👩\u200d\u0301\u202e',
]

const text = (minLength: number, maxLength: number) =>
  fc
    .string({ unit: fc.constantFrom(...SIGNS), minLength, maxLength: Math.min(maxLength, 60) })
    // A text that begins or ends with white space is refused in some fields.
    .map((words) => (minLength === 0 && words === '' ? words : `x${words.slice(1).trimEnd()}`))

/** Any UTF-16 code units, also unpaired surrogates and control characters. */
export const anyText = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0, max: 0xff }), fc.integer({ min: 0, max: 0xffff }))
    .map((code) => String.fromCharCode(code)),
  maxLength: 120,
})

const metadata = fc.dictionary(
  text(1, 20),
  fc.oneof(
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    text(0, 40),
    fc.array(fc.integer(), { maxLength: 3 }),
  ),
  { maxKeys: 4 },
)

/** A valid value, as far as schema and name of the field specify it. */
export function validValue(name: string, schema: Document): fc.Arbitrary<unknown> {
  const known = schema.type === 'object' && schema.properties ? undefined : VALUES_BY_FIELD[name]
  if (schema.format === 'date') return pastDate
  if (known) return known
  if (schema.enum) return fc.constantFrom(...schema.enum)
  switch ([schema.type].flat()[0]) {
    case 'object':
      return schema.properties ? validObject(schema) : metadata
    case 'array':
      return schema.uniqueItems
        ? fc.uniqueArray(validValue('', schema.items), { minLength: schema.minItems ?? 0, maxLength: 5 })
        : fc.array(validValue('', schema.items), { minLength: schema.minItems ?? 0, maxLength: 5 })
    case 'boolean':
      return fc.boolean()
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000 })
    default:
      return schema.format === 'date-time' ? pastTime : text(schema.minLength ?? 0, schema.maxLength ?? 40)
  }
}

function validObject(schema: Document): fc.Arbitrary<unknown> {
  const fields = Object.entries<Document>(schema.properties).map(
    ([name, child]) => [name, validValue(name, child)] as const,
  )
  return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] })
}

/** Texts that break code that trusts them. */
export const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff\ud800',
  '\u0007',
  '\u001b[31m',
  '\u0085',
  '\u202eevil',
  '\ufeff',
  'e\u0301'.repeat(50),
  '👩‍👩‍👧‍👦'.repeat(20),
  "'; drop table payments; --",
  "' or 1=1 --",
  '%',
  '_'.repeat(90),
  '\\',
  '%_\\%',
  '((((((((((a+)+)+)+)+)+)+)+)+)+$',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '=HYPERLINK("http://evil.example")',
  '{{7*7}}',
  'a\r\nSet-Cookie: x=1',
  '../../../etc/passwd',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'https://good.example@evil.example/',
  'http://169.254.169.254/latest/meta-data',
  '{0197a3c2-7d51-7cc3-98c4-dc0c0c07398f}',
  '0197A3C2-7D51-7CC3-98C4-DC0C0C07398F',
  '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  '4242 4242 4242 4242',
  'null',
  'undefined',
  'NaN',
  'true',
  '1e9',
  '0x10',
  '１２',
  '9999-99-99T99:99:99Z',
  '2026-02-30T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  '0001-01-01T00:00:00Z',
  'x'.repeat(101),
  'x'.repeat(5_000),
]

const HOSTILE_NUMBERS = [
  ...['-0', '0', '-1', '0.1', '1.005', '8.2', '0.30000000000000004', '1e308', '1e400', '-1e400', '5e-324'],
  ...[
    '90071992547409931.23',
    '9007199254740993',
    '999999999999.99',
    '1000000000000',
    '1e2',
    '1E+2',
    '10.000',
  ],
  ...['2147483648', '9223372036854775808', '99999999999999999999999999999999'],
].map((written) => new RawJson(written))

const deep = (depth: number) => new RawJson('['.repeat(depth) + ']'.repeat(depth))
const deepObject = (depth: number) => new RawJson(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)

const HOSTILE_SHAPES = [
  ...[true, false, [], {}, [[]], [null], { a: 1 }, deep(15), deep(17), deep(5_000), deepObject(20)],
  ...[
    new RawJson('{"__proto__":{"polluted":1}}'),
    new RawJson('{"constructor":{"prototype":{"polluted":1}}}'),
  ],
  ...[
    new RawJson('{"toString":1,"valueOf":2,"hasOwnProperty":3}'),
    new RawJson('{"":1}'),
    new RawJson('{"\\u0000":1}'),
  ],
  ...[
    new RawJson('{"a":1,"a":2}'),
    new RawJson('[1,2,3]'),
    new RawJson('"\\ud800"'),
    new RawJson('"\\u0000"'),
  ],
]

/** Any value that is invalid for the field. */
export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown[]>(...HOSTILE_TEXTS),
  fc.constantFrom<unknown[]>(...HOSTILE_NUMBERS),
  fc.constantFrom<unknown[]>(...HOSTILE_SHAPES),
  fc.constant(null),
  anyText,
  fc.double(),
  fc.jsonValue({ maxDepth: 4 }),
)

/** A value of another type, which must be rejected. Without null, which means absent for an optional field. */
export function wrongTypeValues(schema: Document): unknown[] {
  const own = [schema.type].flat()
  const others: Record<string, unknown> = {
    string: 'words',
    number: 12,
    boolean: true,
    object: { a: 1 },
    array: [1],
  }
  const names = own.map((type: string) => (type === 'integer' ? 'number' : type))
  return Object.entries(others)
    .filter(([type]) => !names.includes(type))
    .map(([, value]) => value)
}
