use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[tokio::test]
async fn tcp_connections_are_set_up_for_small_packets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = Address::Tcp { host: "127.0.0.1".into(), port };
    let (made, accepted) = tokio::join!(Stream::connect(&address), listener.accept());
    let Stream::Tcp(stream) = made.unwrap() else { panic!("not TCP") };
    assert!(stream.nodelay().unwrap());
    assert!(SockRef::from(&stream).keepalive().unwrap());
    drop(accepted);
}

#[tokio::test]
async fn what_was_read_before_tls_is_read_again_first() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut socket = Socket::unix(BytesMut::from(&b"early "[..]), ours);
    theirs.write_all(b"late").await.unwrap();
    let mut seen = [0; 10];
    socket.read_exact(&mut seen).await.unwrap();
    assert_eq!(&seen, b"early late");
}

#[test]
fn only_plain_tcp_can_be_overheard() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    assert_eq!(Stream::Unix(ours).channel(), Channel::Socket);
}

/// A crowd that comes at once is served in turn, as clients are that wait for a place.
#[tokio::test]
async fn a_full_queue_of_a_unix_socket_is_waited_for() {
    let path = std::env::temp_dir().join(format!("freshet-queue-{}", std::process::id()));
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    socket.bind(&socket2::SockAddr::unix(&path).unwrap()).unwrap();
    socket.listen(1).unwrap();
    let address = Address::Unix(path.clone());
    let crowd = (0..8).map(|_| {
        let address = address.clone();
        tokio::spawn(async move { Stream::connect(&address).await.map(drop) })
    });
    let crowd: Vec<_> = crowd.collect();
    let accepting = tokio::task::spawn_blocking(move || {
        (0..8).for_each(|_| {
            std::thread::sleep(PLACE_LOOKED_FOR_EVERY);
            drop(socket.accept().unwrap());
        });
    });
    for one in crowd {
        one.await.unwrap().unwrap();
    }
    accepting.await.unwrap();
    std::fs::remove_file(path).unwrap();
}
