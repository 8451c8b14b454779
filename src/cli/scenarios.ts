// How to cause each event in staging, as data: the API calls of each step. Placeholders in braces are replaced by
// values that earlier steps saved.

import { EVENT_TYPE_NAMES, type EventType } from '../core/event-types.ts'

export interface Step {
  /** Shown to the user while the step runs. */
  description: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  body?: object
  /** Posts a form of a payer's page instead of an API call: no key, and no record in the response. */
  isForm?: boolean
  /** Values of the response that later steps need: the variable, and its path in the record. */
  capture?: Readonly<Record<string, string>>
}

export interface Scenario {
  steps: readonly Step[]
  /** The variable with the uuid of the resource that the event is about. */
  resource: string
}

/** Why an event cannot be triggered. */
export interface Unsupported {
  reason: string
}

const CUSTOMER = { email: '{email}', firstname: 'Amina', lastname: 'Odhiambo' }
const PAYMENT = { amount: 1250.5, currency: 'KES', customer: CUSTOMER, description: 'Made by cowry trigger' }

const START: Step = {
  description: 'A customer begins to pay 1250.50 KES',
  method: 'POST',
  path: '/api/v1/checkout/initiate-payment',
  body: { ...PAYMENT, reference: '{reference}' },
  capture: { payment: 'uuid', accessCode: 'accessCode', customer: 'customer.uuid' },
}

const payWith = (instrument: string, description = `The customer pays with ${instrument}`): Step => ({
  description,
  method: 'POST',
  path: '/api/v1/sandbox/payments/{reference}/complete',
  body: { instrument },
})

const saveWith = (instrument: string): readonly Step[] => [
  { ...START, body: { ...PAYMENT, reference: '{reference}', isRecurring: true } },
  {
    ...payWith(instrument),
    capture: { token: 'paymentMethod.recurringToken', method: 'paymentMethod.uuid' },
  },
]

const CHARGE: Step = {
  description: 'The saved card is charged 300.00 KES',
  method: 'POST',
  path: '/api/v1/charges/recurring',
  body: {
    ...PAYMENT,
    amount: 300,
    reference: '{chargeReference}',
    recurringToken: '{token}',
    metadata: {},
  },
  capture: { charge: 'uuid' },
}

const refundOf = (reference: string): Step => ({
  description: 'The whole amount is refunded',
  method: 'POST',
  path: '/api/v1/refunds',
  body: { reference },
  capture: { refund: 'uuid' },
})

const disputeOf = (reference: string): Step => ({
  description: "The customer's bank opens a chargeback",
  method: 'POST',
  path: `/api/v1/sandbox/payments/${reference}/dispute`,
  body: { outcome: 'open' },
})

const reverse = (reference: string): Step => ({
  description: 'The provider takes the money back',
  method: 'POST',
  path: `/api/v1/sandbox/payments/${reference}/reverse`,
})

const payment = (...steps: Step[]): Scenario => ({ steps: [START, ...steps], resource: 'payment' })
const charge = (instrument: string, ...steps: Step[]): Scenario => ({
  steps: [...saveWith(instrument), CHARGE, ...steps],
  resource: 'charge',
})
const refund = (instrument: string): Scenario => ({
  steps: [START, payWith(instrument), refundOf('{reference}')],
  resource: 'refund',
})

/** A checkout allows five attempts; the last decline ends it. */
const FIVE_DECLINES = ['first', 'second', 'third', 'fourth', 'fifth'].map((which) =>
  payWith('card_declined', `The ${which} card is declined`),
)

const LINK: Step = {
  description: 'A payment link over 1250.50 KES, for one payment',
  method: 'POST',
  path: '/api/v1/payment-links',
  body: { title: 'Made by cowry trigger', amount: 1250.5, currency: 'KES', usage: 'single' },
  capture: { link: 'uuid', slug: 'slug' },
}

const PAY_LINK: readonly Step[] = [
  {
    description: 'A payer opens the link and begins to pay',
    method: 'POST',
    path: '/l/{slug}',
    body: { ...CUSTOMER, token: '{formToken}' },
    isForm: true,
  },
  {
    description: 'The payment at the link is retrieved',
    method: 'GET',
    path: '/api/v1/payment-links/{link}/payments',
    capture: { reference: '0.reference' },
  },
  payWith('card_success'),
]

// South Sudan: a currency that no gateway serves.
const ACCOUNT: Step = {
  description: 'An account that receives transfers in SSP',
  method: 'POST',
  path: '/api/v1/p2p/accounts',
  body: {
    channel: 'bank_transfer',
    currency: 'SSP',
    country: 'SS',
    accountName: 'Demo Shop',
    accountNumber: '0010020030',
    bankName: 'Demo Bank',
  },
}

const p2p = (...steps: Step[]): Scenario => ({
  steps: [
    ACCOUNT,
    {
      description: 'A customer is asked to transfer 5000.00 SSP',
      method: 'POST',
      path: '/api/v1/p2p/payments',
      body: { ...PAYMENT, amount: 5000, currency: 'SSP', country: 'SS', reference: '{reference}' },
      capture: { p2p: 'uuid' },
    },
    ...steps,
  ],
  resource: 'p2p',
})

const onP2p = (description: string, verb: string, body?: object): Step => ({
  description,
  method: 'POST',
  path: `/api/v1/p2p/payments/{p2p}/${verb}`,
  body,
})

const SENT = onP2p('The customer reports the transfer', 'mark-paid')
const received = (receivedAmount: number) =>
  onP2p(`The merchant confirms that ${receivedAmount}.00 SSP arrived`, 'confirm', { receivedAmount })

const UNDERPAID: readonly Step[] = [
  START,
  payWith('transfer_underpaid', 'The customer sends less than was asked for'),
  {
    description: 'A case is opened',
    method: 'GET',
    path: '/api/v1/cases?payment={payment}',
    capture: { case: '0.uuid' },
  },
]

const SCENARIOS: Readonly<Partial<Record<EventType, Scenario>>> = {
  'payment.pending': payment(),
  'payment.processing': payment(payWith('card_success')),
  'payment.successful': payment(payWith('card_success')),
  'payment.failed': payment(...FIVE_DECLINES),
  'payment.abandoned': payment({
    description: 'The merchant cancels the payment',
    method: 'POST',
    path: '/api/v1/checkout/payments/{payment}/cancel',
    body: {},
  }),
  'payment.expired': payment(
    payWith('mobile_late_success', 'The checkout expires, then the customer pays late'),
  ),
  'payment.refunded': payment(payWith('card_success'), refundOf('{reference}')),
  'payment.disputed': payment(payWith('card_success'), disputeOf('{reference}')),
  'payment.reversed': payment(payWith('card_success'), reverse('{reference}')),
  'payment.needs_review': { steps: UNDERPAID, resource: 'case' },
  'case.resolved': {
    steps: [
      ...UNDERPAID,
      {
        description: 'The merchant accepts the amount',
        method: 'POST',
        path: '/api/v1/cases/{case}/resolve',
        body: { resolution: 'accept', note: 'Made by cowry trigger' },
      },
    ],
    resource: 'case',
  },
  'charge.processing': charge('card_success'),
  'charge.successful': charge('card_success'),
  'charge.failed': charge('card_declined_later'),
  'charge.refunded': charge('card_success', refundOf('{chargeReference}')),
  'charge.disputed': charge('card_success', disputeOf('{chargeReference}')),
  'charge.reversed': charge('card_success', reverse('{chargeReference}')),
  'refund.pending': refund('card_refund_pending'),
  'refund.successful': refund('card_success'),
  'refund.failed': refund('card_refund_declined'),
  'customer.created': { steps: [START], resource: 'customer' },
  'payment_method.saved': { steps: saveWith('card_success'), resource: 'method' },
  'payment_method.revoked': {
    steps: [
      ...saveWith('card_success'),
      {
        description: 'The saved card is revoked',
        method: 'DELETE',
        path: '/api/v1/customers/{customer}/payment-methods/{method}',
      },
    ],
    resource: 'method',
  },
  'payment_link.paid': { steps: [LINK, ...PAY_LINK], resource: 'link' },
  'payment_link.completed': { steps: [LINK, ...PAY_LINK], resource: 'link' },
  'p2p.awaiting_payment': p2p(),
  'p2p.marked_paid': p2p(SENT),
  'p2p.confirmed': p2p(SENT, received(5000)),
  'p2p.underpaid': p2p(SENT, received(4000)),
  'p2p.overpaid': p2p(SENT, received(6000)),
  'p2p.rejected': p2p(SENT, onP2p('The merchant reports that nothing arrived', 'reject', {})),
  'p2p.cancelled': p2p(onP2p('The merchant cancels it', 'cancel')),
}

const UNSUPPORTED: Readonly<Partial<Record<EventType, string>>> = {
  'payment_method.expired': 'it is sent when a saved card expires: save one, then cowry clock advance 5y.',
  'payment_link.expired':
    'it is sent when the expiresAt of a link passes: create one, then cowry clock advance to that time.',
  'p2p.expired': 'it is sent when the time for a transfer ends: create one, then cowry clock advance 1d.',
  'wallet.settled':
    'it is sent when collected money settles: cowry trigger payment.successful, then cowry clock advance 2d.',
  'webhook_endpoint.disabled':
    'it is sent when one of your endpoints responds with 410, or only with errors for days.',
  'webhook.test': 'it is sent to one endpoint: POST /api/v1/webhooks/endpoints/{uuid}/test.',
}

export const TRIGGERABLE: readonly EventType[] = EVENT_TYPE_NAMES.filter(
  (type) => SCENARIOS[type] !== undefined,
)

export function scenarioOf(type: EventType): Scenario | Unsupported {
  return SCENARIOS[type] ?? { reason: UNSUPPORTED[type] ?? 'there is no scenario for it.' }
}
