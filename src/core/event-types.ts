// Every event type that we send to merchants. Webhook endpoints filter by it; docs/generated/events.md lists it.

export const EVENT_TYPES = {
  'payment.pending': 'The checkout is open; also after a decline that leaves it open.',
  'payment.processing': 'An attempt is with a gateway.',
  'payment.successful': 'Money was collected, proven by the gateway; also after a dispute that you won.',
  'payment.failed': 'Declined for good.',
  'payment.abandoned':
    'The merchant cancelled the payment, or its time passed after the customer had cancelled.',
  'payment.expired': 'The time passed with nothing paid.',
  'payment.refunded': 'A part of the money went back, or all of it: the status says which.',
  'payment.disputed': 'A chargeback was opened.',
  'payment.reversed': 'The provider took the money back.',
  'payment.needs_review':
    'A payment, charge or refund needs a decision: a case was opened, and the data is the case.',
  'case.resolved': 'A case was resolved; the data says how.',
  'charge.processing': 'A saved method is being charged; also while the outcome is not known.',
  'charge.successful': 'Money was collected, proven by the gateway; also after a dispute that you won.',
  'charge.failed': 'Declined.',
  'charge.refunded': 'A part of the money went back, or all of it: the status says which.',
  'charge.disputed': 'A chargeback was opened.',
  'charge.reversed': 'The provider took the money back.',
  'refund.pending': 'A refund was asked for.',
  'refund.successful': 'The money is on its way to the payer, proven by the gateway.',
  'refund.failed':
    'The gateway refused the refund, or reported after its success that it failed and you took the money back; the money is yours, and can be refunded again.',
  'customer.created': 'The first time this e-mail was seen.',
  'payment_method.saved': 'A method can be charged again from now on.',
  'payment_method.revoked': 'A method can not be charged any more: you revoked it.',
  'payment_method.expired': 'A method can not be charged any more: its card has expired.',
  'payment_link.paid': 'A payment through a link succeeded.',
  'payment_link.completed': 'A link has collected all the payments it may.',
  'payment_link.expired': 'The time of a link passed.',
  'p2p.awaiting_payment': 'A transfer is expected from the payer.',
  'p2p.marked_paid': 'The payer, or you, said that the transfer was sent.',
  'p2p.confirmed': 'You confirmed that the whole amount arrived.',
  'p2p.underpaid': 'Less arrived than was asked for.',
  'p2p.overpaid': 'More arrived than was asked for.',
  'p2p.rejected': 'You said that nothing arrived.',
  'p2p.expired': 'The time for the transfer passed.',
  'p2p.cancelled': 'You called the transfer off.',
  'wallet.settled': 'Money moved from pending to available.',
  'webhook_endpoint.disabled': 'We stopped calling an endpoint of yours: the reason stands in it.',
  'webhook.test': 'You asked for a test event.',
} as const satisfies Record<string, string>

export type EventType = keyof typeof EVENT_TYPES

// The cast is safe: a constant object has exactly the keys of its type, but Object.keys returns string[].
export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventType[]

export function isEventType(name: string): name is EventType {
  return Object.hasOwn(EVENT_TYPES, name)
}

/**
 * What a webhook endpoint may subscribe to beside single types: everything, or the types of one subject, such as
 * payment.*, including those that a later version adds.
 */
export const EVENT_PATTERNS: readonly string[] = [
  '*',
  ...new Set(EVENT_TYPE_NAMES.map((name) => name.replace(/\..*$/, '.*'))),
]
