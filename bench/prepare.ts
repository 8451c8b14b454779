// Sends each measured request once to a service in this process, and makes the baseline scripts from its statements.
// Leaves some paid payments to verify.

import { type BaselineScript, chargeScript, initiateScript, readScript } from './baseline-scripts.ts'
import { type Captured, captureStatements } from './capture.ts'
import { customerRefOf } from './population.ts'
import {
  chargeOf,
  initiateOf,
  nextRequest,
  type Operation,
  type PaidPayment,
  type RequestSource,
} from './requests.ts'
import { apiKeyOf } from './seed.ts'
import { request, sendOnce } from './send.ts'

export type BaselineOperation = Exclude<Operation, 'hotCharges' | 'bareRoute'>
export type BaselineScripts = Record<BaselineOperation, BaselineScript>

const PAID_PAYMENTS = 100
// A number that even a busy machine handles without a timeout for a connection.
const PAID_AT_ONCE = 5

export async function prepareBaselines(
  url: string,
): Promise<{ paid: PaidPayment[]; baselines: BaselineScripts }> {
  const paid: PaidPayment[] = []
  while (paid.length < PAID_PAYMENTS) {
    const customers = Array.from({ length: PAID_AT_ONCE }, (_, index) => paid.length + index + 1)
    paid.push(...(await Promise.all(customers.map((customer) => payOnce(url, customer)))))
  }
  const source = { host: new URL(url).host, paid }
  const charge = await captured(url, chargeOf(source, customerRefOf(1)).bytes)
  const initiate = await captured(url, initiateOf(source, customerRefOf(1)).bytes)
  const read = async (operation: Operation) =>
    readScript(
      (await captured(url, nextRequest(source, operation).bytes)).filter(
        ({ text }) => !isSetupStatement(text),
      ),
    )
  const baselines = {
    ...writeBaselines(charge, initiate),
    verify: await read('verify'),
    wallet: await read('wallet'),
    customerList: await read('customerList'),
    customerSearch: await read('customerSearch'),
  }
  return { paid, baselines }
}

/** The scripts of the two operations that write. */
export function writeBaselines(
  charge: readonly Captured[],
  initiate: readonly Captured[],
): Pick<BaselineScripts, 'charges' | 'initiates'> {
  return {
    charges: chargeScript(findOnly(charge, isRecord), findOnly(charge, isSettle)),
    initiates: initiateScript(findOnly(initiate, isRecord)),
  }
}

const isRecord = (text: string) => text.includes('insert into payment_references')
const isSettle = (text: string) => text.includes('update payments p')
/** Keys are cached for seconds, and the tenant role is prepared once per connection: neither is part of a request. */
const isSetupStatement = (text: string) => text.includes('api_keys') || text.includes("set_config('role'")

function findOnly(statements: readonly Captured[], isWanted: (text: string) => boolean): Captured {
  const found = statements.filter(({ text }) => isWanted(text))
  const [one] = found
  if (!one || found.length !== 1) throw new Error('the steps of a charge have changed: see bench/prepare.ts')
  return one
}

async function payOnce(url: string, customer: number): Promise<PaidPayment> {
  const { merchant } = customerRefOf(customer)
  const source: RequestSource = { host: new URL(url).host, paid: [] }
  const { bytes, reference = '' } = initiateOf(source, customerRefOf(customer))
  await sendOnce(url, bytes)
  const path = `/api/v1/sandbox/payments/${reference}/complete`
  await post(`${url}${path}`, merchant, JSON.stringify({ instrument: 'card_success' }))
  return { merchant, reference }
}

function captured(url: string, bytes: string): Promise<Captured[]> {
  return captureStatements(() => sendOnce(url, bytes))
}

function post(url: string, merchant: number, body: string): Promise<string> {
  return request(url, apiKeyOf(merchant), body)
}
