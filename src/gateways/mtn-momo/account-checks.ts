// What cowry doctor asks MTN MoMo: the currency of the account, and whether refunds are possible.

import { Type } from 'typebox'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { GatewayCheck } from '../gateway.ts'
import { checkByHand, checkFailed, checkOk } from '../reply.ts'
import { BALANCE_PATH, type Product } from './client.ts'

interface MomoAccount {
  currency: string
  collection: Product
  /** Null: no subscription key is configured. */
  disbursement: Product | null
  callbackUrl: string
  sendsCallbackUrl: boolean
}

export async function checkMomoAccount(account: MomoAccount): Promise<GatewayCheck[]> {
  return [await checkCurrency(account), checkCallbacks(account), await checkRefunds(account)]
}

const readBalance = schemaReader(Type.Object({ currency: Type.String({ minLength: 1, maxLength: 10 }) }))

async function checkCurrency({ collection, currency }: MomoAccount): Promise<GatewayCheck> {
  const name = 'currency'
  const given = await collection.get(BALANCE_PATH, fromBalance)
  if (typeof given !== 'string')
    return checkByHand(name, `MTN MoMo did not return the balance: see that the account is in ${currency}.`)
  if (given === currency) return checkOk(name, given)
  return checkFailed(
    name,
    `The account is in ${given}, and the target environment collects ${currency}: check both.`,
  )
}

function fromBalance(result: HttpResult): string | undefined {
  if (result.kind !== 'answered' || result.status !== 200) return undefined
  return readBalance(parseExactJson(result.body.toString()))?.currency
}

function checkCallbacks({ callbackUrl, sendsCallbackUrl }: MomoAccount): GatewayCheck {
  const name = 'callbacks'
  const { host } = new URL(callbackUrl)
  if (sendsCallbackUrl)
    return checkByHand(
      name,
      `See that the callback host of the API user is ${host}: with another one MTN MoMo rejects payments. It sends a callback once, and only to https with a certificate of a well-known authority.`,
    )
  return checkByHand(
    name,
    'COWRY_PUBLIC_URL is not an https address with a name and without a port, so MTN MoMo sends no callbacks, and payments are found by polling only.',
  )
}

async function checkRefunds({ disbursement }: MomoAccount): Promise<GatewayCheck> {
  const name = 'refunds'
  if (!disbursement)
    return checkByHand(
      name,
      'Payments cannot be refunded: for that set the subscription key of the product Disbursement (disbursementSubscriptionKey).',
    )
  switch (await disbursement.probe()) {
    case 'works':
      return checkOk(name)
    case 'refused':
      return checkFailed(
        name,
        'The product Disbursement refuses the credentials, so payments cannot be refunded.',
      )
    case 'unreachable':
      return checkByHand(name, 'The product Disbursement did not answer: try again later.')
  }
}
