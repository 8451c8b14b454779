import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createLog } from '../src/kit/observability/log.ts'
import { chargeBody, initiateBody, saveMethod } from '../test/support/builders.ts'
import { testService } from '../test/support/service.ts'
import { toPgbench } from './baseline.ts'
import { type Captured, captureStatements } from './capture.ts'
import { writeBaselines } from './prepare.ts'

const STATEMENTS = { record: 'insert into payment_references', settle: 'update payments p' }
const FIELDS = {
  record: ['id', 'reference', 'event_id', 'merchant_id', 'customer_email'],
  settle: ['payment_id', 'attempt_id', 'entry_id', 'event_id', 'merchant_id', 'gateway_reference'],
}
const ANY_ID = '00000000-0000-7000-8000-000000000001'

// With a log of its own, the service runs in this process, where its statements can be captured.
const { api, db } = await testService({ after }, { role: 'api', log: createLog('silent') })
const { charge, initiate } = await capture()

describe('the statements of a measurement', () => {
  it('the statements of a charge and a checkout become scripts with new values in place of the captured ones', () => {
    const { charges, initiates } = writeBaselines(charge, initiate)
    const [recording, settling, ...others] = charges.steps
    const [opening] = initiates.steps
    assert.ok(recording && settling && opening && others.length === 0 && initiates.steps.length === 1)
    for (const [{ sql }, statements, name] of [
      [recording, charge, 'record'],
      [settling, charge, 'settle'],
      [opening, initiate, 'record'],
    ] as const)
      for (const value of valuesOf(statements, name))
        assert.ok(!sql.includes(value), `${value} is still in a script to ${name}`)
    const script = toPgbench(charges)
    for (const variable of [':n::', ':m::', ':one::', ':paymentId::'])
      assert.ok(script.includes(variable), `the script does not use ${variable}`)
  })

  it('PostgreSQL accepts the scripts', async () => {
    const { charges, initiates } = writeBaselines(charge, initiate)
    for (const { sql } of [...charges.steps, ...initiates.steps])
      await db.script(
        `explain ${sql.replaceAll(/(?<!:):paymentId\b/g, `'${ANY_ID}'`).replaceAll(/(?<!:):(?:n|m|one)\b/g, '1')}`,
      )
  })

  it('a statement that was not captured, or was captured twice, is an error', () => {
    const changed = /the steps of a charge have changed/
    for (const wanted of Object.values(STATEMENTS)) {
      const others = charge.filter(({ text }) => !text.includes(wanted))
      assert.throws(() => writeBaselines(others, initiate), changed)
      assert.throws(() => writeBaselines([...charge, ...charge], initiate), changed)
    }
    assert.throws(() => writeBaselines(charge, []), changed)
  })

  it('a field that is missing in a captured row is an error', () => {
    for (const name of ['record', 'settle'] as const)
      for (const field of FIELDS[name])
        assert.throws(
          () => writeBaselines(withoutField(charge, name, field), initiate),
          /the row has no value for/,
          `${field} of ${name}`,
        )
  })
})

/** The statements of one charge and one checkout. */
async function capture() {
  const [charged, opened] = [chargeBody(await saveMethod(api, 'card_success')), initiateBody()]
  const send = async (path: string, body: unknown) => {
    const { http, text } = await api.post(path, body)
    assert.equal(http, 201, text)
  }
  return {
    charge: await captureStatements(() => send('/api/v1/charges/recurring', charged)),
    initiate: await captureStatements(() => send('/api/v1/checkout/initiate-payment', opened)),
  }
}

type Row = Record<string, unknown>

const rowsOf = ({ values }: Captured): Row[] => JSON.parse(String(values[0]))

/** The captured values that a script must not repeat. */
function valuesOf(statements: readonly Captured[], name: keyof typeof STATEMENTS): string[] {
  const statement = statements.find(({ text }) => text.includes(STATEMENTS[name]))
  assert.ok(statement)
  const [row = {}] = rowsOf(statement)
  return FIELDS[name].map((field) => {
    assert.equal(typeof row[field], 'string', `${field} was captured`)
    return String(row[field])
  })
}

function withoutField(
  statements: readonly Captured[],
  name: keyof typeof STATEMENTS,
  field: string,
): Captured[] {
  return statements.map((statement) => {
    if (!statement.text.includes(STATEMENTS[name])) return statement
    const rows = rowsOf(statement).map(({ [field]: _, ...row }) => row)
    return { text: statement.text, values: [JSON.stringify(rows)] }
  })
}
