use super::*;

/// Returns a server that answers every read with the same bytes.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || pass(stream.try_clone().unwrap(), stream, |_| {}));
        }
    });
    address
}

fn says(client: &mut TcpStream, bytes: &[u8]) -> io::Result<Vec<u8>> {
    client.set_read_timeout(Some(Duration::from_millis(200)))?;
    client.write_all(bytes)?;
    let mut answer = vec![0; bytes.len()];
    client.read_exact(&mut answer).map(|()| answer)
}

const DUMP: &[u8] = &[1, 0, 0, 0, 0x12];
const QUERY: &[u8] = &[1, 0, 0, 0, 0x03];

#[test]
fn only_the_stream_is_held_and_cut() {
    let relay = Relay::before(echo().to_string()).unwrap();
    let [mut stream, mut other] = [0; 2].map(|_| TcpStream::connect(relay.address).unwrap());
    assert_eq!(says(&mut stream, DUMP).unwrap(), DUMP);
    assert_eq!(says(&mut other, QUERY).unwrap(), QUERY);

    let orders = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = orders.local_addr().unwrap();
    let obeying = relay.clone();
    thread::spawn(move || obeying.obey(&orders));
    let mut orders = Orders::to(address).unwrap();
    assert_eq!(orders.hold().unwrap(), 1);
    assert!(says(&mut stream, QUERY).is_err(), "it is held");
    assert_eq!(says(&mut other, QUERY).unwrap(), QUERY);
    orders.release().unwrap();
    let mut late = [0; QUERY.len()];
    stream.read_exact(&mut late).unwrap();
    assert_eq!(late, QUERY);

    assert_eq!(orders.cut().unwrap(), 1);
    assert_eq!(orders.cut().unwrap(), 0);
    assert!(says(&mut stream, QUERY).is_err(), "it is cut");
    assert_eq!(says(&mut other, QUERY).unwrap(), QUERY);
}

#[test]
fn orders_of_several_masters_are_obeyed_and_a_hold_ends_with_its_master() {
    let relay = Relay::before(echo().to_string()).unwrap();
    let mut stream = TcpStream::connect(relay.address).unwrap();
    assert_eq!(says(&mut stream, DUMP).unwrap(), DUMP);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || relay.obey(&listener));
    let [mut one, mut other] = [0; 2].map(|_| Orders::to(address).unwrap());
    other.release().unwrap();
    one.hold().unwrap();
    drop(other);
    assert!(says(&mut stream, QUERY).is_err(), "it is still held");
    drop(one);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut late = [0; QUERY.len()];
    stream.read_exact(&mut late).unwrap();
}
