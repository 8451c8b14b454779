// What the page of errors says about a code beside its message: the cause, the fix, and a request that gets this error.

export interface ErrorHelp {
  cause: string
  fix: string
  example: ExampleRequest
}

export interface ExampleRequest {
  /** Method and path, such as GET /api/v1/customers. */
  send: string
  headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON, a text as it is. */
  body?: unknown
  /** The situation in which the request fails. Absent if it always fails. Tests send both kinds. */
  when?: string
}

export function help(cause: string, fix: string, example: ExampleRequest): ErrorHelp {
  return { cause, fix, example }
}

const UUID = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

/** A record that the merchant does not have. */
export function missing(noun: string, send: string, fix: string): ErrorHelp {
  const cause = `No ${noun} of your account has this identifier. A ${noun} of another merchant, or of the other environment, is not found either.`
  return help(cause, fix, { send: send.replaceAll('{uuid}', UUID) })
}

export const CUSTOMER = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }

/** Initiate, with one field that is wrong; undefined leaves it out. */
export function initiate(changes: Record<string, unknown>, when?: string): ExampleRequest {
  const body = { amount: 1000, currency: 'KES', reference: 'order-1042', customer: CUSTOMER, ...changes }
  return { send: 'POST /api/v1/checkout/initiate-payment', body, when }
}

export function refund(body: Record<string, unknown>, when: string): ExampleRequest {
  return { send: 'POST /api/v1/refunds', body: { paymentReference: 'order-1042', ...body }, when }
}

export function charge(changes: Record<string, unknown>, when?: string): ExampleRequest {
  const body = {
    reference: 'renewal-7',
    amount: 100,
    currency: 'KES',
    customer: CUSTOMER,
    recurringToken: 'rtk_4fV9aQ2kLm8ZxT1uYwB7cN3dR6sE0gHjPqKvXiOoUyA',
    description: 'Monthly plan',
    metadata: {},
    ...changes,
  }
  return { send: 'POST /api/v1/charges/recurring', body, when }
}

/** The request as the page shows it. */
export function exampleText({ send, headers = {}, body }: ExampleRequest): string {
  const lines = [send, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
  if (body === undefined) return lines.join('\n')
  return [...lines, '', typeof body === 'string' ? body : JSON.stringify(body, null, 2)].join('\n')
}
