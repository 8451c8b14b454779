/** A note of a person on a payment. */
export interface PaymentNote {
  uuid: string
  userId: string
  text: string
  createdAt: string
}
