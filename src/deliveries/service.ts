// Webhooks: events on their way to merchants. Deliveries come to be in the transaction that writes their event, by a
// trigger; whoever records an event need not know of them.

export { createDeliveryWriter, type WebhooksApp } from './app.ts'
export { type DeliveryBacklog, readDeliveryBacklog } from './backlog-queries.ts'
export { deliveryHeaders, newSecret } from './signature.ts'
