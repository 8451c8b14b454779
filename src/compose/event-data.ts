import { CaseRecord } from '../cases/schema.ts'
import { CustomerRecord, SavedMethodRecord } from '../customers/schema.ts'
import type { EventData } from '../http/openapi/events.ts'
import { SettlementRecord } from '../ledger/schema.ts'
import { PaidLinkRecord, StoredLinkRecord } from '../links/schema.ts'
import { P2pPaymentRecord } from '../p2p/schema.ts'
import { ChargeRecord, PaymentRecord } from '../payments/schema.ts'
import { RefundRecord } from '../refunds/schema.ts'
import { EndpointRecord } from '../webhook-endpoints/schema.ts'

/** Which record the data of each event is. */
export const EVENT_DATA: EventData = {
  'payment.pending': PaymentRecord,
  'payment.processing': PaymentRecord,
  'payment.successful': PaymentRecord,
  'payment.failed': PaymentRecord,
  'payment.abandoned': PaymentRecord,
  'payment.expired': PaymentRecord,
  'payment.refunded': PaymentRecord,
  'payment.disputed': PaymentRecord,
  'payment.reversed': PaymentRecord,
  'payment.needs_review': CaseRecord,
  'case.resolved': CaseRecord,
  'charge.processing': ChargeRecord,
  'charge.successful': ChargeRecord,
  'charge.failed': ChargeRecord,
  'charge.refunded': ChargeRecord,
  'charge.disputed': ChargeRecord,
  'charge.reversed': ChargeRecord,
  'refund.pending': RefundRecord,
  'refund.successful': RefundRecord,
  'refund.failed': RefundRecord,
  'customer.created': CustomerRecord,
  'payment_method.saved': SavedMethodRecord,
  'payment_method.revoked': SavedMethodRecord,
  'payment_method.expired': SavedMethodRecord,
  'payment_link.paid': PaidLinkRecord,
  'payment_link.completed': StoredLinkRecord,
  'payment_link.expired': StoredLinkRecord,
  'p2p.awaiting_payment': P2pPaymentRecord,
  'p2p.marked_paid': P2pPaymentRecord,
  'p2p.confirmed': P2pPaymentRecord,
  'p2p.underpaid': P2pPaymentRecord,
  'p2p.overpaid': P2pPaymentRecord,
  'p2p.rejected': P2pPaymentRecord,
  'p2p.expired': P2pPaymentRecord,
  'p2p.cancelled': P2pPaymentRecord,
  'wallet.settled': SettlementRecord,
  'webhook_endpoint.disabled': EndpointRecord,
  'webhook.test': EndpointRecord,
}
