// What cowry doctor asks Daraja, and what it can see in the settings.

import { Type } from 'typebox'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { GatewayCheck } from '../gateway.ts'
import { checkByHand, checkFailed, checkOk } from '../reply.ts'
import { type DarajaApi, isOutcome, readError } from './api.ts'
import type { DarajaAccount } from './credentials.ts'
import { PULL_REGISTER_PATH } from './pull.ts'

// Daraja refuses callback addresses with these words.
const REFUSED_WORDS = ['mpesa', 'm-pesa', 'safaricom', 'exe', 'exec', 'cmd', 'sql', 'query', 'ngrok']

const Status = Type.Union([Type.Literal('1000'), Type.Literal('1001')])
// Documented with and without the space. 1001: it was registered before.
const readRegistered = schemaReader(
  Type.Union([
    Type.Object({ 'Response Status': Status }),
    Type.Object({ ResponseStatus: Status }),
    Type.Object({ ResponseCode: Status }),
  ]),
)

export async function checkDarajaAccount(
  account: DarajaAccount,
  api: DarajaApi,
  callbackUrl: string,
): Promise<GatewayCheck[]> {
  return [checkCallbacks(callbackUrl), await checkList(account, api, callbackUrl), checkRefunds(account)]
}

function checkCallbacks(callbackUrl: string): GatewayCheck {
  const name = 'callback address'
  const { protocol, host, pathname } = new URL(callbackUrl)
  if (protocol !== 'https:')
    return checkFailed(name, `Daraja refuses prompts without a public https address: set COWRY_PUBLIC_URL.`)
  const address = `${host}${pathname}`.toLowerCase()
  const word = REFUSED_WORDS.find((one) => address.includes(one))
  if (word === undefined) return checkOk(name)
  return checkFailed(
    name,
    `Daraja refuses addresses that contain “${word}”, as ${host} or the label of the account does.`,
  )
}

/** Registering again changes nothing, and there is no call that only asks. */
async function checkList(
  { pullNumber, payee }: DarajaAccount,
  api: DarajaApi,
  callbackUrl: string,
): Promise<GatewayCheck> {
  const name = 'list of payments'
  if (pullNumber === undefined)
    return checkByHand(
      name,
      'If the answer to a prompt and its callback are lost, a person must look for the payment. For a paybill, ask Safaricom to enable Pull Transactions, and set GATEWAY_DARAJA_PULL_NUMBER.',
    )
  const body = {
    ShortCode: payee.shortcode,
    RequestType: 'Pull',
    NominatedNumber: pullNumber,
    CallBackURL: callbackUrl,
  }
  const result = await api.query(PULL_REGISTER_PATH, body)
  if (isOutcome(result) || result.kind !== 'answered')
    return checkByHand(name, 'Daraja did not answer: run the check again.')
  if (result.status === 200 && readRegistered(parseExactJson(result.body.toString()))) return checkOk(name)
  const code = readError(result)?.code ?? `HTTP ${result.status}`
  return checkFailed(
    name,
    `Daraja does not register Pull Transactions (${code}): ask Safaricom to enable it for the app and the shortcode.`,
  )
}

function checkRefunds({ refunds }: DarajaAccount): GatewayCheck {
  const name = 'refunds'
  if (!refunds)
    return checkByHand(
      name,
      'Payments cannot be refunded: set GATEWAY_DARAJA_INITIATOR and GATEWAY_DARAJA_SECURITY_CREDENTIAL.',
    )
  return checkOk(name, refunds.isPayout ? 'by payout (B2C)' : 'by reversal')
}
