// Every request that our connectors can send is valid by the provider's own description, and a misspelt field is not. The
// fakes of these providers validate every request of all other tests too.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { GATEWAYS } from '../../../src/compose/gateways.ts'
import { money } from '../../../src/core/money.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { STRIPE } from '../../../src/gateways/stripe/index.ts'
import { HAS_LARGER_FORM, shareOf, sized } from '../../support/scale.ts'
import * as paystack from '../paystack/fake.ts'
import * as stripe from '../stripe/fake.ts'
import { callsOf, makeAttempt, openInProcess } from './connection.ts'
import { type Driven, driveAll, type Recorded } from './drive.ts'
import { type Description, descriptionsOf, requestIssues, type SentRequest } from './requests.ts'
import { SOURCES, WITHOUT_DESCRIPTION } from './sources.ts'

const DRIVEN: readonly Driven[] = [
  {
    definition: STRIPE,
    credentials: { secretKey: stripe.FAKE_SECRET_KEY, webhookSecret: stripe.FAKE_WEBHOOK_SECRET },
    // The rights of a restricted key are checked by more requests.
    otherCredentials: { secretKey: 'rk_test_made0up', webhookSecret: stripe.FAKE_WEBHOOK_SECRET },
    start: stripe.startFakeStripe,
  },
  {
    definition: PAYSTACK,
    credentials: { secretKey: paystack.FAKE_SECRET_KEY },
    start: paystack.startFakePaystack,
    knownDifferences: [
      // A list in the documentation, and one dispute in the description. The connector reads both.
      /^GET \/dispute\/transaction\/\{id\}: response\/data must be object /,
      // The documentation shows more codes than the description, such as transaction_not_found.
      /^GET \/transaction\/verify\/\{reference\}: response\/code must be equal to one of the allowed values /,
      // The description has only a finished charge; one that waits for the payer is shorter in the documentation.
      /^POST \/charge: response\/data must have required property /,
    ],
  },
]

for (const driven of DRIVEN) {
  const { name, title } = driven.definition
  describe(`the requests to ${title}`, () => {
    const recorded: SentRequest[] = []
    const answered: Recorded['responses'] = []

    it(
      `the requests to ${title} for every rail and channel are valid by its own description`,
      HAS_LARGER_FORM,
      async (t) => {
        const { requests, responses } = await driveAll(t, driven, shareOf(driven.definition.rails, 0))
        recorded.push(...requests)
        answered.push(...responses)
        assert.deepEqual([...new Set(recorded.flatMap(requestIssues(name)))], [])
      },
    )

    it('are answered by our fake as the description says', () => {
      const issues = descriptionsOf(name).flatMap(({ responseIssuesOf }) =>
        answered.flatMap(({ request, response }) => responseIssuesOf(request, response)),
      )
      const unexpected = issues.filter(
        (issue) => !driven.knownDifferences?.some((known) => known.test(issue)),
      )
      assert.deepEqual([...new Set(unexpected)], [])
      assert.ok(answered.length > 10)
    })

    it('use every operation of the extract', () => {
      for (const { extract, find } of descriptionsOf(name)) {
        const used = new Set(recorded.map((request) => find(request)?.operation))
        const unused = extract.operations.filter((operation) => !used.has(operation))
        assert.deepEqual(
          unused.map(({ method, path }) => `${method} ${path}`),
          [],
        )
      }
    })

    it('are invalid with any field misspelt, in every version of the description', () => {
      let count = 0
      for (const description of descriptionsOf(name))
        for (const request of oneOfEach(description, recorded))
          for (const misspelt of misspellEach(request)) {
            assert.notDeepEqual(
              description.issuesOf(misspelt.request),
              [],
              `${request.path} ${misspelt.field}`,
            )
            count += 1
          }
      assert.ok(count > 10, `${count} fields were misspelt`)
    })

    it('are valid whatever the merchant and the payer have written', HAS_LARGER_FORM, () =>
      assertValidForAnyText(driven),
    )
  })
}

describe('the descriptions of the providers', () => {
  it('exist for every connector, or it is recorded why not', () => {
    const described = Object.values(SOURCES).map(({ provider }) => provider)
    const recorded = new Set([...described, ...Object.keys(WITHOUT_DESCRIPTION)])
    const missing = GATEWAYS.filter(({ name }) => !recorded.has(name)).map(({ name }) => name)
    assert.deepEqual(missing, [], 'name them in SOURCES or WITHOUT_DESCRIPTION of sources.ts')
  })
})

/** The last recorded request of each operation: it has the most fields that differ from the defaults. */
function oneOfEach({ find }: Description, recorded: readonly SentRequest[]): SentRequest[] {
  return [...new Map(recorded.map((request) => [find(request)?.operation, request])).values()]
}

interface Misspelt {
  field: string
  request: SentRequest
}

/** The request with each of its fields renamed in turn. */
function misspellEach(request: SentRequest): Misspelt[] {
  const { query, text } = request
  const inQuery = misspellForm(query).map(([field, changed]) => ({
    field,
    request: { ...request, query: changed },
  }))
  if (!text.startsWith('{')) {
    const forms = misspellForm(new URLSearchParams(text))
    return [
      ...inQuery,
      ...forms.map(([field, form]) => ({ field, request: { ...request, text: String(form) } })),
    ]
  }
  const body = Object.entries(JSON.parse(text))
  const bodies = body.map(([field]) => {
    const renamed = body.map(([name, value]) => [name === field ? misspell(name) : name, value])
    return { field, request: { ...request, text: JSON.stringify(Object.fromEntries(renamed)) } }
  })
  return [...inQuery, ...bodies]
}

/** Every part of every name, such as a, b and c of a[b][0][c]; the names in metadata are ours. */
function misspellForm(form: URLSearchParams): [field: string, form: URLSearchParams][] {
  return [...form.keys()].flatMap((field) =>
    [...field.matchAll(/[a-z_]+/g)]
      .filter(({ index }) => !/metadata\]?\[/.test(field.slice(0, index)))
      .map(({ 0: name, index }) => {
        const changed = `${field.slice(0, index)}${misspell(name)}${field.slice(index + name.length)}`
        return [changed, renameField(form, field, changed)]
      }),
  )
}

function renameField(form: URLSearchParams, from: string, to: string): URLSearchParams {
  const renamed = new URLSearchParams()
  for (const [name, value] of form) renamed.append(name === from ? to : name, value)
  return renamed
}

function misspell(name: string): string {
  return `${name.slice(0, -1)}${name.at(-1) === 'x' ? 'y' : 'x'}`
}

const RUNS = sized({ quick: 50, rest: 500, long: 20_000 })

// As our API accepts them.
const TEXT = fc.string({ unit: 'binary', minLength: 1, maxLength: 255 })
const ATTEMPT = fc.record({
  key: fc.uuid(),
  reference: fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }),
  description: fc.option(TEXT),
  merchantName: TEXT,
  amount: fc.bigInt({ min: 1n, max: 99_999_999_999_999n }).map((minor) => money(minor, 'KES')),
  customer: fc.record({ email: fc.emailAddress(), firstname: TEXT, lastname: TEXT }),
})

async function assertValidForAnyText({ definition, credentials }: Driven): Promise<void> {
  const issuesOf = requestIssues(definition.name)
  const saved = JSON.stringify({
    ...{ customer: 'cus_1', payment_method: 'pm_1' },
    ...{ authorization_code: 'AUTH_1', email: 'amina.otieno@example.com' },
  })
  const property = fc.asyncProperty(ATTEMPT, async (changes) => {
    const issues: string[] = []
    const gateway = openInProcess(definition, credentials, (request) => {
      issues.push(...issuesOf(request))
      return { status: 503, body: {} }
    })
    const attempt = makeAttempt(changes)
    const references = { payment: 'pi_1', refund: '1', credential: saved }
    for (const call of Object.values(callsOf(gateway, { attempt, ...references }))) await call()
    assert.deepEqual(issues, [])
  })
  await fc.assert(property, { numRuns: RUNS, seed: 16 })
}
